"""The native transport without a socket: the same responses in the same order, however the bytes are segmented."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

from bare_transport import BareTransport, statuses_in
from foreseal.rpc.core_protocol import EntranceLimits
from foreseal.server import Settings
from foreseal.server.native.frames import (
    FrameParser,
    ProtocolViolation,
    close_code,
    close_frame,
    frame_chunks,
    text_frame,
)
from native_server import bare_connection

from asgi_client import until
from fake_core import FakeEntrance, FakeNode

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def call(method: str, number: int, *params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def post(body: bytes, *lines: bytes, head: bytes = HEAD) -> bytes:
    return head + b"".join(line + b"\r\n" for line in lines) + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunked(body: bytes) -> bytes:
    parts = b"".join(b"%x\r\n%b\r\n" % (len(body[at : at + 7]), body[at : at + 7]) for at in range(0, len(body), 7))
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + parts + b"0\r\nX-Late: 1\r\n\r\n"


def played(pieces: list[bytes], *, alone: bool = True, **settings: Any) -> tuple[bytes, BareTransport]:
    """Return the bytes written for these segments, each sent after all possible responses; dates and ages are omitted.

    Without `alone`, short responses are written at the end of an iteration of the event loop.
    """

    async def play() -> BareTransport:
        async with bare_connection(Settings(Path("unused"), **settings), alone=alone) as (_, http, transport):
            for piece in pieces:
                if not transport.closed:
                    http.data_received(piece)
                while http._answering is not None or http._pause.is_on:  # noqa: ASYNC110 - nothing reports it
                    await asyncio.sleep(0)
        return transport

    transport = asyncio.run(play())
    kept = [line for line in transport.written.split(b"\r\n") if not line.startswith((b"date:", b"x-foreseal-view:"))]
    return b"\r\n".join(kept), transport


STREAM = [
    post(call("echo", 1, "a")),
    post(call("echo", 2, "b")),
    b"\r\n" + post(call("echo", 3, "c")),
    chunked(call("echo", 4, "d" * 40)),
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"HEAD /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    post(b"[" + call("echo", 5, "e") + b"," + call("echo", 6, "f") + b"]"),
    post(call("echo", 7, "g" * 30_000)),
    post(b'{"jsonrpc":"2.0","method":"echo","params":[]}'),
    post(call("echo", 8, "h"), b"Origin: https://a.example"),
    post(call("echo", 9, "i"), b"Connection: Upgrade", b"Upgrade: h2c"),
    post(call("echo", 10, "j"), head=HEAD.replace(b"1.1", b"1.0") + b"Connection: keep-alive\r\n"),
    post(call("echo", 11, "k"), b"Connection: close"),
]
WHOLE, _ = played(STREAM)


def test_requests_of_every_kind_are_answered_in_order() -> None:
    assert statuses_in(WHOLE) == [200, 200, 200, 200, 200, 200, 200, 200, 204, 200, 200, 200, 200]
    for number in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11):
        assert WHOLE.count(b'"id":%d,' % number) == 1
    assert WHOLE.count(b"access-control-allow-origin") == 0, "pages are for development chains"
    assert (WHOLE.count(b"connection: close"), WHOLE.count(b"connection: keep-alive")) == (1, 1)


@given(st.lists(st.integers(0, sum(map(len, STREAM))), max_size=12), st.booleans())
def test_segmentation_and_timing_do_not_change_the_output(cuts: list[int], alone: bool) -> None:
    stream = b"".join(STREAM)
    edges = [0, *sorted(cuts), len(stream)]
    pieces = [stream[start:end] for start, end in itertools.pairwise(edges) if end > start]
    written, transport = played(pieces, alone=alone)
    assert written == WHOLE
    assert transport.closed


def test_requests_in_single_bytes_are_answered() -> None:
    stream = b"".join(STREAM[:4])
    assert played([stream[at : at + 1] for at in range(len(stream))])[0] == played(STREAM[:4])[0]


def test_cached_head_inside_a_body_is_not_reused() -> None:
    """Bytes in a body that equal the previous request's head belong to the body."""
    first = post(call("echo", 1, "a"))
    begun = HEAD + b"Content-Length: %d\r\n\r\n" % len(first)
    written, _ = played([first, begun, first])
    assert written.count(b'"id":1,') == 1
    assert b"parse error" in written


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (b"NONSENSE\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\n\r\n", 400),
        (b"GET http://[ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET http://[ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 400),
        (HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400),
        (HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (HEAD + b"Content-Length: -1\r\n\r\n", 400),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (HEAD + b"X: " + b"x" * 70_000, 431),
        (HEAD + b"X: y\r\n" * 120 + b"\r\n", 431),
        (b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        (HEAD + b"Content-Length: 99999999\r\n\r\n", 413),
        (HEAD.replace(b"/json", b"/xml") + b"Content-Length: 4\r\n\r\n", 415),
    ],
)
def test_invalid_request_is_rejected_and_closes_the_connection(given: bytes, status: int) -> None:
    written, transport = played([post(call("echo", 1, "a")), given, post(call("echo", 2, "b"))])
    assert statuses_in(written) == [200, status]
    assert b"connection: close" in written
    assert transport.closed or transport.ended, "what the client still sends is not answered"


def test_expect_continue_is_answered_with_100() -> None:
    body = call("echo", 1, "a")
    head = post(body, b"Expect: 100-continue").removesuffix(body)
    written, _ = played([head, body])
    assert written.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")
    refused, _ = played([HEAD + b"Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n"])
    assert refused.startswith(b"HTTP/1.1 413")


def masked(opcode: Opcode, data: bytes, *, fin: bool = True) -> bytes:
    return Frame(opcode, data, fin).serialize(mask=True)


messages = st.lists(
    st.tuples(st.binary(max_size=300) | st.just(b"x" * 70_000), st.integers(0, 3), st.booleans()), max_size=5
)


@given(messages, st.lists(st.integers(0, 400_000), max_size=8))
def test_messages_are_reassembled_from_any_frames_and_segments(
    sent: list[tuple[bytes, int, bool]], cuts: list[int]
) -> None:
    """Each message is sent in one or several frames, with or without a ping in between, in segments."""
    stream, expected = b"", []
    for data, splits, ping in sent:
        size = max(1, len(data) // (splits + 1))
        parts = [data[at : at + size] for at in range(0, len(data), size)] or [b""]
        for index, part in enumerate(parts):
            kind = Opcode.CONT if index else Opcode.BINARY
            stream += masked(kind, part, fin=index == len(parts) - 1)
            if ping:
                stream += masked(Opcode.PING, b"!")
                if index < len(parts) - 1:
                    expected.append((Opcode.PING, b"!"))
        expected.append((Opcode.TEXT, data))
        if ping:
            expected.append((Opcode.PING, b"!"))
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    frames = FrameParser(100_000)
    reassembled = [each for start, end in itertools.pairwise(edges) for each in frames.feed(stream[start:end])]
    assert reassembled == expected


@given(st.text(max_size=200) | st.just("y" * 126) | st.just("z" * 65_536))
def test_messages_are_encoded_and_decoded_like_the_library(text: str) -> None:
    data = text.encode()
    frames = FrameParser(1 << 20)
    assert list(frames.feed(masked(Opcode.TEXT, data) * 2)) == [(Opcode.TEXT, data)] * 2
    assert text_frame(data) == Frame(Opcode.TEXT, data).serialize(mask=False)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (lambda: Frame(Opcode.TEXT, b"a").serialize(mask=False), 1002),
        (lambda: masked(Opcode.CONT, b"a"), 1002),
        (lambda: masked(Opcode.TEXT, b"a", fin=False) + masked(Opcode.TEXT, b"b"), 1002),
        (lambda: b"\x83\x80\0\0\0\0", 1002),
        (lambda: b"\xc1\x80\0\0\0\0", 1002),
        (lambda: masked(Opcode.TEXT, b"x" * 1001), 1009),
        (lambda: b"\x81\xff" + (1 << 40).to_bytes(8, "big"), 1009),
        (lambda: masked(Opcode.BINARY, b"x" * 600, fin=False) + masked(Opcode.CONT, b"x" * 600), 1009),
        (lambda: masked(Opcode.TEXT, b"\xff\xfe"), 1007),
        (lambda: masked(Opcode.TEXT, b"\xc3", fin=False) + masked(Opcode.CONT, b"("), 1007),
    ],
)
def test_protocol_violation_is_named(given: Callable[[], bytes], code: int) -> None:
    with pytest.raises(ProtocolViolation) as broken:
        list(FrameParser(1000).feed(given()))
    assert broken.value.code == code


@given(st.lists(st.text(max_size=200) | st.just("y" * 126) | st.just("z" * 65_536), max_size=4), st.text(max_size=130))
def test_frames_of_prefixed_messages_equal_those_of_the_library(texts: list[str], prefix: str) -> None:
    before = prefix.encode()
    frames = before.join(frame_chunks(texts, len(before), "}}"))
    assert frames == b"".join(
        Frame(Opcode.TEXT, f"{prefix}{text}}}}}".encode()).serialize(mask=False) for text in texts
    ), texts


def test_close_frames_are_encoded_and_decoded() -> None:
    assert close_code(b"") is None
    assert close_code((1001).to_bytes(2, "big") + b"bye") == 1001
    with pytest.raises(ProtocolViolation):
        close_code(b"\x03")
    assert close_frame(1000, "a") == Frame(Opcode.CLOSE, b"\x03\xe8a").serialize(mask=False)
    assert close_frame(None) == b"\x88\x00"


HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


class FrameEntrance(FakeEntrance):
    """Answers the given frames at once, one or two at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[bytes, bytes] = {}
        self.taken = 0
        self.callers: list[object] = []

    def respond_to_frames(
        self, data: bytes, most: int, caller: object = None
    ) -> tuple[bytes, int, list[Any], None] | None:
        self.callers.append(caller)
        frames, end = b"", 0
        for frame, answer in self.answers.items():
            if data.startswith(frame, end):
                frames, end = frames + answer, end + len(frame)
                self.taken += 1
        return (frames, end, [], None) if end else None


class ShortNode(FakeNode):
    """A node whose listeners share one entrance."""

    short: FrameEntrance

    def entrance(self, limits: EntranceLimits) -> FrameEntrance:
        return self.short


@asynccontextmanager
async def conversing(
    node: FakeNode, *, alone: bool = True, **settings: Any
) -> AsyncIterator[tuple[Any, BareTransport]]:
    """Yield an accepted WebSocket and its transport."""
    chosen = Settings(Path("unused"), **settings)
    async with bare_connection(chosen, lambda _: node, alone=alone) as (_, http, transport):
        http.data_received(HANDSHAKE)
        for _ in range(10):  # iterations of the event loop in which it is accepted and read
            await asyncio.sleep(0)
        transport.written = b""
        yield transport.protocol, transport
        if not transport.closed:
            transport.protocol.connection_lost(None)


async def test_half_closed_client_is_answered_first() -> None:
    """Both may arrive in one iteration of the event loop, which closes the connection if no call is in flight."""
    node = ShortNode()
    node.short = FrameEntrance()
    frame = masked(Opcode.TEXT, call("echo", 1))
    node.short.answers[frame] = text_frame(b'{"id":1,"result":[]}')
    async with bare_connection(Settings(Path("unused")), alone=False) as (_, http, transport):
        http.data_received(post(call("echo", 1)))
        if not http.eof_received():
            transport.close()
    assert statuses_in(transport.written) == [200]
    async with conversing(node, alone=False) as (websocket, transport):
        websocket.data_received(frame)
        websocket.eof_received()
        transport.close()
        assert texts_in(transport.written) == [{"id": 1, "result": []}]
    assert node.short.taken == 1


@pytest.mark.parametrize("leaving", [False, True])
@pytest.mark.parametrize("is_disconnected", [False, True])
async def test_repeated_calls_are_answered_once_the_node_has_them(leaving: bool, is_disconnected: bool) -> None:
    repeated, node = post(call("slow", 1, "0x")), FakeNode()
    node.hold = True
    async with bare_connection(Settings(Path("unused")), lambda _: node) as (listener, http, transport):
        http.data_received(repeated)
        node.release()
        await until(lambda: b'"result":["0x"]' in transport.written)
        transport.written = b""
        http.data_received(repeated)
        listener.handler.is_draining = leaving
        if is_disconnected:
            transport.close()
            http.connection_lost(None)
        node.release()
        await until(lambda: http._answering is None)
    if is_disconnected:
        assert transport.written == b""
        return
    head, _, answer = transport.written.partition(b"\r\n\r\n")
    assert statuses_in(head) == [200]
    assert answer == b'{"jsonrpc":"2.0","id":1,"result":["0x"]}'
    assert (b"connection: close" in head) == leaving


def texts_in(written: bytes) -> list[Any]:
    """Return the JSON of each text message."""
    texts, reader = [], StreamReader()
    reader.feed_data(written)
    while reader.buffer:
        try:
            next(Frame.parse(reader.read_exact, mask=False))
        except StopIteration as done:
            texts.append(json.loads(done.value.data))
    return texts


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("step", [1, 10, 10_000])
async def test_websocket_calls_are_answered_in_order_inline_or_pooled(step: int, short: bool) -> None:
    """A batch takes an iteration of the event loop: later calls wait, even those that could be served inline."""

    node = ShortNode()
    node.short = FrameEntrance()
    stream = b""
    for number in range(5):
        for place in range(4):
            body = call("echo", 4 * number + place)
            frame = masked(Opcode.TEXT, b"[" + body + b"]" if place == 1 else body)
            stream += frame
            if short and place != 1:
                answer = {"jsonrpc": "2.0", "id": 4 * number + place, "result": []}
                node.short.answers[frame] = text_frame(json.dumps(answer).encode())
    async with conversing(node, alone=step == 10) as (websocket, transport):
        for start in range(0, len(stream), step):
            websocket.data_received(stream[start : start + step])
        await until(lambda: transport.written.count(b'"result"') >= 20)
        answers = [one[0] if isinstance(one, list) else one for one in texts_in(transport.written)]
        assert [answer["id"] for answer in answers] == list(range(20))
    is_fast = short and step == 10_000
    assert bool(node.short.taken) == is_fast, "what comes in pieces is put together in the general way"


async def test_no_websocket_fast_path_for_slow_clients() -> None:
    frame = masked(Opcode.TEXT, call("echo", 1))

    async def play(*, behind: bool, **settings: Any) -> int:
        node = ShortNode()
        node.short = FrameEntrance()
        node.short.answers[frame] = text_frame(b'{"id":1,"result":[]}')
        async with conversing(node, **settings) as (websocket, transport):
            if behind:
                websocket.pause_writing()
            websocket.data_received(frame)
            if behind:
                websocket.resume_writing()
            await until(lambda: len(texts_in(transport.written)) == 1)
        # The core charges the answers to a caller with limits.
        assert None not in node.short.callers
        return node.short.taken

    assert await play(behind=False) == 1
    assert await play(behind=True) == 0
    assert await play(behind=False, public=True) == 1


async def test_notifications_are_sent_or_queued_in_order() -> None:
    """They are sent inline, unless the client is behind or they are long; none overtakes queued ones."""
    node = FakeNode()
    async with conversing(node) as (websocket, transport):
        websocket.data_received(masked(Opcode.TEXT, call("eth_subscribe", 1, "newHeads")))
        await until(lambda: len(texts_in(transport.written)) == 1)
        ident = texts_in(transport.written)[0]["result"]

        def heard() -> list[Any]:
            told = texts_in(transport.written)[1:]
            assert all(one["params"]["subscription"] == ident for one in told)
            return [one["params"]["result"] for one in told]

        node.publish("newHeads", "1", "2")
        await until(lambda: heard() == [1, 2])
        long = "x" * 100_000
        node.publish("newHeads", json.dumps(long))
        node.publish("newHeads", "3")
        await until(lambda: heard() == [1, 2, long, 3])
        websocket.pause_writing()
        for number in range(4, 8):
            node.publish("newHeads", str(number))
        await until(lambda: heard() == [1, 2, long, 3, 4])
        websocket.resume_writing()
        node.publish("newHeads", "8")
        await until(lambda: heard() == [1, 2, long, *range(3, 9)])
