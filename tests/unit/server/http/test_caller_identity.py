"""One parse, one identity: earlier requests on a connection do not affect the response to a request."""

import asyncio
import itertools
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bare_transport import BareTransport
from foreseal.rpc.core_protocol import EntranceLimits
from foreseal.server import Settings
from foreseal.server.native.http import HttpConnection
from native_server import bare_connection

from access_doubles import KeyRing, rated
from fake_core import FakeEntrance, FakeNode

VARYING = re.compile(rb"(date|x-foreseal-view): [^\r]*\r\n")


class InlineAnswers(FakeEntrance):
    """Serves `echo` at once, like the core."""

    def respond(self, data: bytes, start: int = 0, head: bytes | None = None, *caller: Any) -> Any:
        if b'"echo"' not in data[start:]:
            return super().respond(data, start, None, *caller)
        body = b'{"jsonrpc":"2.0","id":1,"result":["fast"]}'
        if head is None:
            return body
        return b"%bx-foreseal-view: 1.0; age=1\r\ncontent-length: %d\r\n\r\n%b" % (head, len(body), body)


class InlineNode(FakeNode):
    """A double of the node with a method of the core."""

    def entrance(self, limits: EntranceLimits) -> FakeEntrance:
        return InlineAnswers(limits)


class Request(NamedTuple):
    """A request by a caller: head and body."""

    head: bytes
    body: bytes

    @property
    def raw(self) -> bytes:
        return self.head + self.body


def request(method: str, *lines: bytes, host: bytes = b"localhost") -> Request:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": ["latest"]}).encode()
    head = b"POST / HTTP/1.1\r\nHost: %b\r\n" % host + b"".join(line + b"\r\n" for line in lines)
    return Request(head + b"Content-Length: %d\r\n\r\n" % len(body), body)


class Callers:
    """Requests of different callers, each with its response on a fresh connection."""

    def __init__(self, folder: Path) -> None:
        self.ring = KeyRing(folder)
        self.folder = folder
        texts = [self.ring.add("first").encode(), self.ring.add("second").encode()]
        low = self.ring.add("low", tier="public").encode()
        wrong = b"fs_" + b"0" * 10 + b"_" + b"1" * 64
        callers = [
            (),
            *((b"Authorization: Bearer " + text,) for text in (*texts, low)),
            (b"X-API-Key: " + texts[0],),
            (b"Authorization: Bearer " + wrong,),
            (b"Origin: http://localhost:3000",),
            (b"Origin: https://evil.example",),
        ]
        self.requests = [
            request(method, *lines) for lines in callers for method in ("echo", "eth_getBlockReceipts", "nothing")
        ]
        self.requests += [request("echo", host=b"127.0.0.1"), request("echo", host=b"evil.example")]

    def play(self, pieces: list[bytes], *, public: bool) -> bytes:
        """Return all bytes written for these segments, sent in order on one connection."""

        async def run() -> BareTransport:
            settings = Settings(self.folder, public=public, browsers=True, access=rated())
            async with bare_connection(settings, InlineNode) as (_, http, transport):
                for piece in pieces:
                    if not transport.closed:
                        http.data_received(piece)
                    await settled(http)
                http.connection_lost(None)
            return transport

        return VARYING.sub(b"", asyncio.run(run()).written)


async def settled(http: HttpConnection) -> None:
    """Wait until the connection has responded to all input."""
    while http._answering is not None or http._pause.is_on:  # noqa: ASYNC110 - nothing reports it
        await asyncio.sleep(0)


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    """Split the stream into segments."""
    edges = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[start:end] for start, end in itertools.pairwise(edges) if end > start]


@pytest.fixture(scope="module")
def callers(tmp_path_factory: pytest.TempPathFactory) -> Callers:
    return Callers(tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="module", params=[True, False], ids=["public", "open"])
def alone(request: pytest.FixtureRequest, callers: Callers) -> tuple[bool, list[bytes]]:
    """Return the state of the endpoint (public or not), and the response to each request on a fresh connection."""
    return request.param, [callers.play([one.raw], public=request.param) for one in callers.requests]


def expected(alone: list[bytes], order: list[int]) -> bytes:
    """Return the responses of fresh connections, up to the one that closes its connection."""
    answers = []
    for index in order:
        answers.append(alone[index])
        if b"connection: close" in alone[index]:
            break
    return b"".join(answers)


def test_split_keyed_request_does_not_share_its_identity(callers: Callers) -> None:
    receipts = next(one for one in callers.requests if b"Receipts" in one.body and b"Auth" not in one.head)
    keyed = next(one for one in callers.requests if b"Receipts" in one.body and b"Auth" in one.head)
    first = callers.play([receipts.raw], public=True)
    assert b" 403 " in first
    with_key = callers.play([keyed.raw], public=True)
    assert b" 200 " in with_key
    written = callers.play([receipts.raw, keyed.head, keyed.body, receipts.raw], public=True)
    assert written == first + with_key + first
    written = callers.play([keyed.raw, receipts.head, receipts.body, keyed.raw], public=True)
    assert written == with_key + first + with_key


@given(
    st.lists(st.integers(0, 25), min_size=1, max_size=6),
    st.lists(st.integers(0, 3000), max_size=8),
    st.booleans(),
)
@example([4, 1, 4], [], True)
def test_responses_over_one_connection_equal_those_of_new_connections(
    callers: Callers, alone: tuple[bool, list[bytes]], order: list[int], places: list[int], by_request: bool
) -> None:
    """Callers in any order, in segments of any size; `by_request`: no segment has bytes of two requests."""
    public, answers = alone
    order = [index % len(answers) for index in order]
    parts = [callers.requests[index].raw for index in order]
    pieces = (
        [piece for part in parts for piece in cut(part, places[:2])] if by_request else cut(b"".join(parts), places)
    )
    assert callers.play(pieces, public=public) == expected(answers, order)


@given(st.lists(st.tuples(st.integers(0, 25), st.integers(0, 2), st.integers(1, 400)), min_size=2, max_size=8))
def test_each_request_is_identified_by_its_own_segments(
    callers: Callers, alone: tuple[bool, list[bytes]], sent: list[tuple[int, int, int]]
) -> None:
    """A request in one segment, in two at the end of its head, or in two anywhere, covers the head cache."""
    public, answers = alone
    pieces: list[bytes] = []
    for index, how, place in sent:
        head, body = callers.requests[index % len(answers)]
        if how == 0:
            pieces.append(head + body)
        elif how == 1:
            pieces += [head, body]
        else:
            pieces += cut(head + body, [place])
    assert callers.play(pieces, public=public) == expected(answers, [index % len(answers) for index, *_ in sent])
