"""Limits of the native transport: memory, time and protocol work of hostile clients, without a socket or a wait."""

import asyncio
import time
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from websockets.frames import Frame, Opcode

from bare_transport import statuses_in
from foreseal.rpc import Limits
from foreseal.server.http.transport_limits import TransportLimits
from foreseal.server.native.chunks import MAX_TRAILERS, ChunkDecoder
from foreseal.server.native.connection_table import IDLE, NEVER, UNFINISHED, AddressAccount, ConnectionTable, WorkBucket
from foreseal.server.native.input_buffer import InputBuffer
from foreseal.server.native.request_head import BadRequest
from foreseal.server.settings.access import AccessSettings
from foreseal.server.settings.public_limits import PublicLimits
from native_server import CHUNKED, HEAD, post, serving

from access_doubles import KeyRing, rated
from asgi_client import until

# Linear parsing, and memory proportional to the bytes.


async def test_endless_trailer_is_rejected() -> None:
    async with serving() as served:
        http, wire = served.connect()
        http.data_received(CHUNKED + b"2\r\n{}\r\n0\r\nX: ")
        for _ in range(2 * MAX_TRAILERS // 64):
            http.data_received(b"x" * 64)
        assert statuses_in(wire.written) == [431]


def test_trailers_and_heads_in_single_bytes_take_linear_time() -> None:
    """Each byte is searched a bounded number of times."""

    def spent(size: int) -> float:
        decoder, intake = ChunkDecoder(), InputBuffer()
        intake.add(b"0\r\nX: ")
        intake.decode(decoder)
        begun = time.thread_time()
        for _ in range(size):
            intake.add(b"x")
            intake.decode(decoder)
        return time.thread_time() - begun

    few, many = (min(spent(size) for _ in range(5)) for size in (2000, 8000))
    assert many < 12 * few


async def test_unfinished_bodies_in_tiny_chunks_use_proportional_memory() -> None:
    async with serving() as served:
        lines = [served.connect(f"192.0.2.{n}") for n in range(4)]
        chunk = b"2\r\n{}\r\n" * 1000
        for http, _ in lines:
            http.data_received(CHUNKED)
        tracemalloc.start()
        for _ in range(50):
            for http, _ in lines:
                # Disable the limit on the rate of protocol work.
                http._request.decoder.chunks = 0  # type: ignore[union-attr]
                at = 0
                while at < len(chunk):
                    at = http._request.decoder.decode(chunk, at)  # type: ignore[union-attr]
        used, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert used < 3 * 4 * 50 * 2000


@pytest.mark.parametrize("data", [b"\n", b"X\n", b"5;\n", b"5;a\x00", b"g", b" 5", b"5" * 300])
def test_malformed_chunk_size_is_rejected_before_its_line_ends(data: bytes) -> None:
    with pytest.raises(BadRequest):
        ChunkDecoder().decode(data, 0)


# Protocol work.


async def test_chunk_framing_is_limited_by_rate() -> None:
    async with serving(public=True, public_limits=PublicLimits(address_work=1000)) as served:
        http, wire = served.connect()
        http.data_received(CHUNKED)
        for _ in range(200):
            if not wire.reading and http._pause.is_on and not http._intake.left:
                break
            http.data_received(b"1\r\n \r\n" * 100)
            await asyncio.sleep(0)
        assert not wire.reading, "it is not read for a while"
        other, other_wire = served.connect("192.0.2.2")
        other.data_received(post("echo"))
        await asyncio.sleep(0)
        assert statuses_in(other_wire.written) == [200], "others are served"


async def test_pipelined_requests_do_not_starve_other_connections() -> None:
    async with serving(iteration=0.001) as served:
        http, wire = served.connect()
        _, quiet = other = served.connect("192.0.2.2")
        count = 2000
        http.data_received(post("echo") * count)
        assert 0 < len(statuses_in(wire.written)) < count
        other[0].data_received(post("echo"))
        await asyncio.sleep(0)
        assert statuses_in(quiet.written) == [200]
        await until(lambda: len(statuses_in(wire.written)) == count)


async def test_only_the_newest_ping_is_answered_and_pings_are_limited() -> None:
    async with serving(public=True, access=rated(), public_limits=PublicLimits(address_work=20_000)) as served:
        websocket, wire = await served.websocket()
        pings = [Frame(Opcode.PING, b"%d" % n).serialize(mask=True) for n in range(4)]
        websocket.data_received(b"".join(pings[:3]))
        assert wire.written == b"\x8a\x012"
        # For a client that does not read, one pong waits, however many pings it sends.
        wire.written = b""
        websocket.pause_writing()
        for _ in range(1000):
            websocket.data_received(pings[0])
        websocket.data_received(pings[3])
        assert wire.written == b""
        websocket.resume_writing()
        assert wire.written == b"\x8a\x013"
        flood = Frame(Opcode.PING, b"x" * 125).serialize(mask=True) * 100
        for _ in range(500):
            if not wire.reading:
                break
            websocket.data_received(flood)
            await asyncio.sleep(0)
        assert not wire.reading
        assert websocket._frames.size <= len(flood)


async def test_empty_frames_are_protocol_work() -> None:
    async with serving(public=True, public_limits=PublicLimits(address_work=1000)) as served:
        websocket, wire = await served.websocket()
        begun = Frame(Opcode.TEXT, b"[", False).serialize(mask=True)
        websocket.data_received(begun)
        empty = Frame(Opcode.CONT, b"", False).serialize(mask=True) * 100
        for _ in range(100):
            if not wire.reading:
                break
            websocket.data_received(empty)
            await asyncio.sleep(0)
        assert not wire.reading


def test_overdrawn_work_bucket_recovers() -> None:
    bucket = WorkBucket(100, 0.0)
    assert bucket.spend(200, 0.0) == 0
    assert bucket.spend(50, 0.0) == pytest.approx(0.5)
    assert bucket.spend(0, 0.5) == pytest.approx(0)
    assert not bucket.is_full(1.0)
    assert bucket.is_full(3.0)


# Rejections.


async def test_rejected_caller_is_temporarily_not_read() -> None:
    async with serving(public=True, access=AccessSettings(public_rate=rated(1).public_rate, public_burst=1)) as served:
        http, wire = served.connect()
        http.data_received(post("echo") * 50)
        assert statuses_in(wire.written) == [200, 429]
        assert not wire.reading

        def delay() -> float:
            handle = http._pause._handle
            assert isinstance(handle, asyncio.TimerHandle)
            return handle.when() - served.listener.loop.time()

        delays = [delay()]
        for _ in range(8):
            http._pause.end()
            delays.append(delay())
        assert 0 < delays[0] < 0.02
        assert 0.5 < delays[-1] <= 1.0
        assert statuses_in(wire.written) == [200] + [429] * 9


async def test_rejected_websocket_is_temporarily_not_read() -> None:
    async with serving(public=True, access=AccessSettings(public_rate=rated(1).public_rate, public_burst=1)) as served:
        websocket, wire = await served.websocket()
        body = post("echo").partition(b"\r\n\r\n")[2]
        websocket.data_received(Frame(Opcode.TEXT, body).serialize(mask=True) * 200)
        await until(lambda: b"-32005" in wire.written)
        for _ in range(50):
            await asyncio.sleep(0)
        assert wire.written.count(b"-32005") <= 2
        assert not wire.reading


# Bytes in flight.


async def test_bytes_in_flight_of_an_address_are_limited() -> None:
    async with serving(limits=Limits(address_bytes=150_000)) as served:
        lines = [served.connect() for _ in range(4)]
        for http, _ in lines:
            http.data_received(HEAD + b"Content-Length: 100000\r\n\r\n" + b" " * 60_000)
        assert [statuses_in(wire.written) for _, wire in lines] == [[], [], [429], [429]]
        assert served.listener.table.total_bytes == 120_000
        other, wire = served.connect("192.0.2.2")
        other.data_received(post("echo"))
        await asyncio.sleep(0)
        assert statuses_in(wire.written) == [200]
        lines[0][0].connection_lost(None)
        assert served.listener.table.total_bytes == 60_000


async def test_unread_responses_count() -> None:
    async with serving(limits=Limits(address_bytes=150_000)) as served:
        http, wire = served.connect()
        http.data_received(post("echo", "x" * 1000))
        wire.unread = 90_000
        http.pause_writing()
        assert served.listener.table.total_bytes == 90_000
        again, again_wire = served.connect()
        again.data_received(post("echo"))
        again_wire.unread = 90_000
        again.pause_writing()
        assert again_wire.closed
        again.connection_lost(None)
        wire.unread = 0
        http.resume_writing()
        assert served.listener.table.total_bytes == 0


async def test_unread_response_of_a_key_holder_has_the_limit_of_its_tier(tmp_path: Path) -> None:
    key = b"Authorization: Bearer %b\r\n" % KeyRing(tmp_path).add("shop").encode()
    limits = {"limits": Limits(connection_bytes=100_000), "public_limits": PublicLimits(connection_bytes=50_000)}
    async with serving(folder=tmp_path, public=True, **limits) as served:
        for lines, is_closed in ((b"", True), (key, False)):
            http, wire = served.connect()
            http.data_received(post("echo", lines=lines))
            wire.unread = 90_000
            http.pause_writing()
            assert wire.closed == is_closed
            websocket, wire = await served.websocket(lines=lines)
            wire.unread = 90_000
            websocket.pause_writing()
            assert wire.closed == is_closed


async def test_largest_address_loses_its_largest_connection_at_the_limit() -> None:
    async with serving(limits=Limits(total_bytes=200_000)) as served:
        greedy = [served.connect("192.0.2.9") for _ in range(3)]
        for size, (http, _) in zip((60_000, 80_000, 50_000), greedy, strict=True):
            http.data_received(HEAD + b"Content-Length: 100000\r\n\r\n" + b" " * size)
        honest, wire = served.connect("192.0.2.1")
        honest.data_received(HEAD + b"Content-Length: 40000\r\n\r\n" + b" " * 30_000)
        assert [one.closed for _, one in greedy] == [False, True, False]
        honest.data_received(b" " * 10_000)
        await asyncio.sleep(0)
        assert statuses_in(wire.written) == [200]


async def test_a_body_counts_until_its_call_is_answered() -> None:
    async with serving() as served:
        served.node.hold = True
        http, wire = served.connect()
        http.data_received(post("slow", "x" * 200_000))
        await until(lambda: bool(served.node.held))
        assert served.listener.table.total_bytes > 200_000
        served.node.hold = False
        served.node.release()
        await until(lambda: b" 200 " in wire.written)
        assert served.listener.table.total_bytes == 0


async def test_unread_websocket_responses_count() -> None:
    async with serving(limits=Limits(connection_bytes=100_000)) as served:
        websocket, wire = await served.websocket()
        websocket.pause_writing()
        body = post("large", 30_000).partition(b"\r\n\r\n")[2]
        frame = Frame(Opcode.TEXT, body).serialize(mask=True)
        for number in (1, 2):
            websocket.data_received(frame)
            await until(lambda count=number: served.listener.table.total_bytes >= count * 30_000)
        websocket.data_received(frame * 3)
        await until(lambda: wire.closed or served.listener.handler.refusals["bytes_in_flight"] > 0)
        assert served.listener.handler.refusals["bytes_in_flight"] == 1
        websocket.connection_lost(None)
        assert served.listener.table.total_bytes == 0


async def test_requests_without_calls_are_protocol_work() -> None:
    async with serving(limits=Limits(address_work=2000)) as served:
        http, wire = served.connect()
        http.data_received(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
        for _ in range(100):
            await asyncio.sleep(0)
        assert 0 < len(statuses_in(wire.written)) <= 21
        assert not wire.reading


# Connections and time.


class Idle:
    """A connection of a table."""

    def __init__(self, account: AddressAccount, rank: int, since: float) -> None:
        self.account = self.sender = account
        self.since, self.in_flight, self.request_bytes = since, 0, 0
        self.max_bytes = 1 << 20
        self._rank = rank
        self.aborted = False

    def rank(self) -> int:
        return self._rank

    def abort(self) -> None:
        self.aborted = True


def table(max_open: int = 100, **limits: Any) -> ConnectionTable:
    bounds = {
        "address_connections": 4,
        "connection_bytes": 1 << 20,
        "address_bytes": 1 << 20,
        "total_bytes": 1 << 20,
        "head_time": 10.0,
        "body_time": 20.0,
        "body_rate": 0,
        "address_work": 1000,
    }
    return ConnectionTable(TransportLimits(**(bounds | limits)), max_open, Counter())


def test_address_with_too_many_connections_loses_its_slowest() -> None:
    connections = table()
    account = connections.account(("192.0.2.1", 1), 0.0)
    lines = [Idle(account, rank, since) for rank, since in ((IDLE, 1), (NEVER, 0), (UNFINISHED, 9), (IDLE, 0))]
    for line in lines:
        assert connections.has_room(account)
        connections.add(line)
    assert connections.has_room(account)
    assert [line.aborted for line in lines] == [False, False, True, False]
    connections.add(Idle(account, NEVER, 0))
    assert connections.has_room(account)
    assert [line.aborted for line in lines] == [False, False, True, True]


def test_address_with_only_busy_connections_gets_no_more() -> None:
    connections = table()
    account = connections.account(("192.0.2.1", 1), 0.0)
    for _ in range(4):
        connections.add(Idle(account, NEVER, 0))
    assert not connections.has_room(account)
    assert connections.has_room(connections.account(("192.0.2.2", 1), 0.0))


def test_ipv6_network_shares_limits_and_proxies_have_none() -> None:
    connections = table(is_proxy=lambda address: address == "192.0.2.7")
    one, two = connections.account(("2001:db8::1", 1), 0.0), connections.account(("2001:db8::2", 1), 0.0)
    assert one is two
    assert not connections.account(None, 0.0).is_limited
    assert not connections.account(("192.0.2.7", 1), 0.0).is_limited


def test_full_listener_closes_connections_of_the_largest_address() -> None:
    connections = table(max_open=16)
    many, few = connections.account(("192.0.2.1", 1), 0.0), connections.account(("192.0.2.2", 1), 0.0)
    hostile = [Idle(many, UNFINISHED, n) for n in range(15)]
    honest = Idle(few, IDLE, 0)
    for line in (*hostile, honest):
        connections.add(line)
    for _ in range(10):
        assert connections.make_room()
    assert not honest.aborted
    assert connections.count == 6


async def test_incomplete_heads_block_no_other_client() -> None:
    """The test opens 400 of them, and the limit is 300 connections."""
    async with serving(max_open=300) as served:
        port = served.listener._listening.getsockname()[1]
        await served.listener.start()
        hostile = []
        for _ in range(400):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(HEAD)
            hostile.append((reader, writer))
        async with asyncio.timeout(20):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(post("echo"))
            assert (await reader.read(1000)).startswith(b"HTTP/1.1 200 ")
        for _, line in (*hostile, (reader, writer)):
            line.close()


async def test_head_timeout_covers_all_of_its_bytes() -> None:
    async with serving() as served:
        http, wire = served.connect()
        begun = served.listener.now
        for _ in range(20):
            http.data_received(b"P" if not http._intake.left else b"O")
        http.enforce_timeouts(begun + 9.5, 125.0)
        assert wire.written == b""
        http.enforce_timeouts(begun + 10.5, 125.0)
        assert statuses_in(wire.written) == [408]


async def test_body_below_the_minimum_rate_times_out() -> None:
    async with serving() as served:
        slow, slow_wire = served.connect()
        quick, quick_wire = served.connect()
        begun = served.listener.now
        for http, size in ((slow, 1000), (quick, 9000)):
            http.data_received(HEAD + b"Content-Length: 10000\r\n\r\n" + b" " * size)
            http.enforce_timeouts(begun + 4.0, 125.0)
            http.enforce_timeouts(begun + 8.0, 125.0)
        assert (statuses_in(slow_wire.written), statuses_in(quick_wire.written)) == ([408], [])
        quick.enforce_timeouts(begun + 21.0, 125.0)
        assert statuses_in(quick_wire.written) == [408]


async def test_disconnect_cancels_a_call_but_half_close_does_not() -> None:
    async with serving() as served:
        served.node.hold = True
        client, _ = served.connect()
        client.data_received(post("slow"))
        task = client._answering
        assert isinstance(task, asyncio.Task)
        client.connection_lost(None)
        await until(task.done)
        assert task.cancelled()
        half, wire = served.connect()
        half.data_received(post("slow"))
        assert half.eof_received()
        served.node.release()
        await until(lambda: wire.closed)
        assert statuses_in(wire.written) == [200]


async def test_an_open_websocket_is_pinged_every_20_seconds() -> None:
    async with serving() as served:
        socket, wire = await served.websocket()
        begun = served.listener.now
        for after, pings in ((19.0, 0), (20.0, 1), (39.0, 1), (40.0, 2)):
            socket.enforce_timeouts(begun + after, 125.0)
            assert wire.written == b"\x89\x00" * pings, after
        # Neither a client that does not read, nor one that is being closed.
        socket.pause_writing()
        socket.enforce_timeouts(begun + 60.0, 125.0)
        socket.resume_writing()
        await socket.close(1000, "")
        wire.written = b""
        socket.enforce_timeouts(begun + 80.0, 125.0)
        assert wire.written == b""
