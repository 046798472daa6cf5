"""Requests that repeat the head of the last one: answered in the core, with the same bytes and in the same order."""

import asyncio
import gc
import itertools
import json
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bare_transport import BareTransport, statuses_in
from foreseal._core import MAX_BATCHED_SIZE
from foreseal.server import App, DevChain, Settings
from foreseal.server.native.http import HttpConnection
from foreseal.server.native.listener import NativeListener
from foreseal.server.sockets.listening import listen
from live_node import ALICE

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def post(method: str, *params: Any, ident: int = 1, lines: bytes = b"") -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": params}).encode()
    return HEAD + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body


def large(ident: int) -> bytes:
    """Return a call whose answer is too large for a batch of writes."""
    code = "0x61ffff5ff3"
    return post("eth_call", {"to": ALICE, "gas": "0xfffff"}, "latest", {ALICE: {"code": code}}, ident=ident)


class Watched(HttpConnection):
    """A connection that counts the input which the core did not answer."""

    def __init__(self, owner: NativeListener) -> None:
        super().__init__(owner)
        self.seen = 0

    def _receive(self, data: bytes) -> None:
        self.seen += 1
        super()._receive(data)


class Server:
    """A listener on a real node of a chain that stands still."""

    def __init__(self, app: App, listener: NativeListener) -> None:
        self.app, self.listener = app, listener

    def connect(self) -> tuple[Watched, BareTransport]:
        http, transport = Watched(self.listener), BareTransport()
        http.connection_made(transport)
        return http, transport


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Server]:
    """Start a server."""
    app = App(Settings(folder / "chain", dev=DevChain(), block_time=10**9))
    await app.startup()
    await app.wait_until_ready()
    listener = NativeListener(app.endpoint, listen("127.0.0.1", 0))
    try:
        yield Server(app, listener)
    finally:
        await listener.stop(0)
        await app.shutdown()


async def settled(http: HttpConnection) -> None:
    """Let the connection answer all that it has received."""
    await asyncio.sleep(0)
    while http._answering is not None or http._pause.is_on:  # noqa: ASYNC110 - nothing reports it
        await asyncio.sleep(0)


def bodies_in(written: bytes) -> list[Any]:
    """Return the bodies of responses, in order."""
    bodies = []
    while written:
        head, _, rest = written.partition(b"\r\n\r\n")
        lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        size = int(lines[b"content-length"])
        bodies.append(json.loads(rest[:size]))
        written = rest[size:]
    return bodies


@pytest.mark.parametrize("alone", [True, False])
async def test_a_repeated_request_is_answered_in_the_core(tmp_path: Path, alone: bool) -> None:
    async with serving(tmp_path) as server:
        http, transport = server.connect()
        server.listener.write_batch.alone = alone
        for ident in range(5):
            http.data_received(post("eth_getBalance", ALICE, "latest", ident=ident))
            await settled(http)
        assert http.seen == 1
        assert [body["id"] for body in bodies_in(transport.written)] == [0, 1, 2, 3, 4]
        assert len({body["result"] for body in bodies_in(transport.written)}) == 1


async def test_a_call_of_a_client_that_leaves_is_cancelled(tmp_path: Path) -> None:
    """Its code never ends."""
    endless = post("eth_call", {"to": ALICE, "gas": "0x1ffffff"}, "latest", {ALICE: {"code": "0x5b5f56"}})
    async with serving(tmp_path) as server:
        http, _ = server.connect()
        http.data_received(endless)
        await settled(http)
        http.data_received(endless)
        assert http._answering is not None
        http.connection_lost(None)
        node = server.app._node
        while node.running:  # noqa: ASYNC110 - nothing reports it
            await asyncio.sleep(0)
        ended = json.loads(node.metrics())["lanes"]["heavy"]["ended"]
        assert ended["cancelled"] == 1


STREAM = [
    *(post("eth_getBalance", ALICE, "latest", ident=ident) for ident in (10, 11, 12)),
    post("eth_blockNumber", ident=13),
    post("eth_blockNumber", ident=14),
    post("eth_getStorageAt", ALICE, "0x0", "bad", ident=15),
    post("no_such_method", ident=16),
    post("eth_sendRawTransaction", "0x00", ident=17),
    post("eth_sendRawTransaction", "0x01", ident=18),
    large(19),
    large(20),
    post("eth_getLogs", {}, ident=21),
    post("eth_getLogs", {}, ident=22),
    post("eth_chainId", ident=23, lines=b"Origin: https://a.example\r\n"),
    post("eth_chainId", ident=24, lines=b"X-Padding: abc\r\n"),
    post("eth_chainId", ident=25, lines=b"X-Padding: abd\r\n"),
    post("eth_blockNumber", ident=26),
]


@settings(max_examples=20)
@given(st.lists(st.integers(0, sum(map(len, STREAM))), max_size=8), st.permutations(STREAM), st.booleans())
def test_answers_and_order_do_not_depend_on_segments(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], requests: list[bytes], alone: bool
) -> None:
    async def sent_in_segments() -> None:
        async with serving(tmp_path_factory.mktemp("segments")) as server:
            await check_segments(server, cuts, requests, alone=alone)

    asyncio.run(sent_in_segments())


async def check_segments(server: Server, cuts: list[int], requests: list[bytes], *, alone: bool) -> None:
    http, transport = server.connect()
    server.listener.write_batch.alone = alone
    stream = b"".join(requests)
    edges = sorted({0, len(stream), *cuts, *itertools.accumulate(map(len, requests))})
    for start, end in itertools.pairwise(edges):
        http.data_received(stream[start:end])
        await settled(http)
    expected = [json.loads(request.partition(b"\r\n\r\n")[2])["id"] for request in requests]
    assert [body["id"] for body in bodies_in(transport.written)] == expected
    by_id = {body["id"]: body for body in bodies_in(transport.written)}
    assert by_id[11]["result"] == by_id[10]["result"]
    assert (by_id[15]["error"]["code"], by_id[16]["error"]["code"]) == (-32602, -32601)
    assert len(by_id[19]["result"]) == 2 + 2 * 0xFFFF > MAX_BATCHED_SIZE


async def test_calls_are_counted_wherever_they_are_answered(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        http, _ = server.connect()
        for _ in range(7):
            http.data_received(post("eth_chainId"))
            await settled(http)
        dispatcher = http._remembered.dispatcher
        assert dispatcher is not None
        assert dispatcher.call_metrics.answered["eth_chainId"] == 7


async def test_a_draining_listener_closes_the_connection_with_the_next_response(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        http, transport = server.connect()
        for _ in range(3):
            http.data_received(post("eth_chainId"))
            await settled(http)
        assert (http.seen, b"connection: close" in transport.written) == (1, False)
        server.app.endpoint.drain()
        http.data_received(post("eth_chainId"))
        await settled(http)
        assert statuses_in(transport.written) == [200] * 4
        assert transport.written.count(b"connection: close") == 1
        assert transport.closed


async def test_a_client_that_does_not_read_gets_no_further_answer(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        http, transport = server.connect()
        for _ in range(3):
            http.data_received(post("eth_chainId"))
            await settled(http)
        http.pause_writing()
        http.data_received(post("eth_chainId", ident=4))
        await asyncio.sleep(0)
        assert (statuses_in(transport.written), transport.reading) == ([200] * 3, False)
        http.resume_writing()
        await settled(http)
        assert bodies_in(transport.written)[-1]["id"] == 4


async def test_an_answer_is_the_end_of_being_idle(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        http, _ = server.connect()
        http.data_received(post("eth_chainId"))
        http.since = 0.0
        http.data_received(post("eth_chainId"))
        assert (http.seen, http.since) == (1, server.listener.now)


@pytest.mark.parametrize("end", ["finish", "abort", "eof_received"])
async def test_an_ended_connection_answers_nothing_in_the_core(tmp_path: Path, end: str) -> None:
    async with serving(tmp_path) as server:
        http, transport = server.connect()
        for _ in range(3):
            http.data_received(post("eth_chainId"))
        getattr(http, end)()
        http.data_received(post("eth_chainId"))
        assert http.seen == 2
        assert len(statuses_in(transport.written)) <= 4


async def test_a_lost_connection_is_freed(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        http, _ = server.connect()
        for _ in range(3):
            http.data_received(post("eth_chainId"))
        freed = weakref.ref(http)
        http.connection_lost(None)
        del http
        await asyncio.sleep(0)
        gc.collect()
        assert freed() is None
