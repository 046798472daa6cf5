"""HTTP/1.1 framing: requests that never end, and idle connections."""

import asyncio
import contextlib
import socket
import struct

from hostile.client import LANES, Act, Client, discard
from hostile.patterns.registry import pattern
from hostile.wire import HOST, Connection, call, chunked_head, head, post

_BODY = call("eth_blockNumber")
_HELD = 128
"""Connections of one address that a slow-client pattern holds."""
_FULL = b" " * 2_000_000


@pattern("slow-head", "heads that arrive one byte a second, 128 connections an address")
async def slow_head(client: Client) -> None:
    """Occupy parsers with slow heads."""
    await client.trickle(head(10)[:-4] + b"\r\nX-Slow: ", b"x", 1.0, _HELD)


@pattern("half-head", "half-sent heads and silence, 400 connections an address (S5)")
async def half_head(client: Client) -> None:
    """Occupy connections with partial heads."""
    await client.trickle(head(10)[:40], b"", 1.0, 400)


@pattern("slow-body", "bodies that arrive one byte every half second, 128 connections an address")
async def slow_body(client: Client) -> None:
    """Occupy body buffers with slow bodies."""
    await client.trickle(head(100_000) + b"{", b" ", 0.5, _HELD)


@pattern("silent", "connections that send nothing, 400 an address")
async def silent(client: Client) -> None:
    """Occupy file descriptors without sending."""
    await client.trickle(b"", b"", 1.0, 400)


@pattern("two-byte-chunks", "bodies in chunks of two bytes that never end, 20 connections an address (S4)")
async def two_byte_chunks(client: Client) -> None:
    """Force per-chunk memory overhead."""
    await client.flood(b"2\r\n  \r\n", 20, opening=chunked_head())


@pattern("trailers", "trailers after a chunked body without an end (S4)")
async def trailers(client: Client) -> None:
    """Force quadratic parsing time with trailers."""
    await client.flood(b"x-trailer: y\r\n", 2, opening=chunked_head() + b"2\r\n{}\r\n0\r\n")


@pattern("one-trailer", "one trailer line without an end")
async def one_trailer(client: Client) -> None:
    """Grow a single trailer line without end."""
    await client.flood(b"y" * 1024, 2, opening=chunked_head() + b"2\r\n{}\r\n0\r\nx-trailer: ")


@pattern("chunk-extensions", "a chunk extension without an end")
async def chunk_extensions(client: Client) -> None:
    """Grow a chunk extension that a parser skips."""
    await client.flood(b";a=b" * 256, 2, opening=chunked_head() + b"2")


@pattern("chunk-size-zeros", "a chunk size with leading zeros without an end")
async def chunk_size_zeros(client: Client) -> None:
    """Grow a chunk size without end."""
    await client.flood(b"0" * 1024, 2, opening=chunked_head())


@pattern("header-lines", "heads of thousands of lines")
async def header_lines(client: Client) -> None:
    """Fill header tables."""
    lines = b"".join(b"X-%d: y\r\n" % number for number in range(4000))
    await _requests(client, head(2)[:-2] + lines + b"\r\n{}")


@pattern("long-header", "a header line of 1 MiB")
async def long_header(client: Client) -> None:
    """Fill a header buffer."""
    await _requests(client, head(2)[:-2] + b"X-Long: " + b"y" * (1 << 20) + b"\r\n\r\n{}")


@pattern("long-target", "a request target of 1 MiB")
async def long_target(client: Client) -> None:
    """Fill a buffer with a long URL."""
    await _requests(client, b"POST /" + b"a" * (1 << 20) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")


@pattern("empty-lines", "empty lines before a request line without an end")
async def empty_lines(client: Client) -> None:
    """Make a parser skip empty lines."""
    await client.flood(b"\r\n", 4)


@pattern("pipelining", "pipelined calls as fast as they are accepted, their answers read")
async def pipelining(client: Client) -> None:
    """Fill the request queue of a connection."""
    await client.flood(post(_BODY), 4, read=True)


@pattern("pipelining-unread", "pipelined calls whose answers are never read, 16 connections an address")
async def pipelining_unread(client: Client) -> None:
    """Fill response buffers."""
    await client.flood(post(_BODY), LANES)


@pattern("pipelined-heavy", "pipelined log searches whose answers are never read")
async def pipelined_heavy(client: Client) -> None:
    """Fill response buffers with large responses."""
    block = client.facts.logged_block
    await client.flood(post(call("eth_getLogs", {"fromBlock": block, "toBlock": block})), LANES)


@pattern("expect-continue", "Expect: 100-continue without a body, 128 connections an address")
async def expect_continue(client: Client) -> None:
    """Occupy connections with requests that never continue."""
    await client.trickle(head(1000, None, "Expect: 100-continue"), b"", 1.0, _HELD)


@pattern("half-close", "calls followed by a half-close, and no reading")
async def half_close(client: Client) -> None:
    """Hold connections that are closed on one side."""

    async def act(connection: Connection) -> None:
        connection.stop_reading()
        await connection.drain(post(_BODY) * 20)
        connection.writer.write_eof()
        await asyncio.sleep(0.5)

    await client.lanes(_HELD, act)


@pattern("churn", "a new connection for each call")
async def churn(client: Client) -> None:
    """Force connection accepts and closes with one request each."""

    async def act(connection: Connection) -> None:
        client.note(await connection.post(_BODY))

    await _churning(client, act)


@pattern("churn-reset", "connections that are reset as soon as they are open")
async def churn_reset(client: Client) -> None:
    """Force only connection accepts."""

    async def act(connection: Connection) -> None:
        raw = connection.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    await _churning(client, act)


@pattern("churn-mid-answer", "large answers whose connections are reset after the first bytes")
async def churn_mid_answer(client: Client) -> None:
    """Cause work whose response is never read."""
    block = client.facts.logged_block
    body = post(call("eth_getLogs", {"fromBlock": block, "toBlock": block}))

    async def act(connection: Connection) -> None:
        connection.send(body)
        await connection.reader.read(10)

    await _churning(client, act)


@pattern("backlog", "connections begun without waiting for their acceptance, 400 at once")
async def backlog(client: Client) -> None:
    """Fill the accept queue."""
    for _ in client.ticks():
        opened = []
        for _ in range(400):
            line = socket.socket()
            line.setblocking(False)
            line.setsockopt(socket.IPPROTO_IP, getattr(socket, "IP_BIND_ADDRESS_NO_PORT", 24), 1)
            line.bind((client.address, 0))
            with contextlib.suppress(BlockingIOError, OSError):
                line.connect((HOST, client.port))
            opened.append(line)
        client.seen["connections"] += len(opened)
        await asyncio.sleep(0.5)
        for line in opened:
            line.close()


@pattern("declared-length", "a declared length of 2 MB, almost all of it sent, 64 connections an address (S5)")
async def declared_length(client: Client) -> None:
    """Occupy body memory."""
    await client.trickle(head(2_097_000) + _FULL, b" ", 1.0, 64)


@pattern("huge-length", "a declared length beyond every limit")
async def huge_length(client: Client) -> None:
    """Make the server reserve a huge buffer."""
    await _requests(client, head(1 << 40))


@pattern("unread-answers", "large answers that are never read, 64 connections an address")
async def unread_answers(client: Client) -> None:
    """Occupy memory with unread responses."""
    block = client.facts.logged_block
    request = post(call("eth_getLogs", {"fromBlock": block, "toBlock": block}))

    async def act(connection: Connection) -> None:
        connection.stop_reading()
        await connection.drain(request * 8)
        await asyncio.sleep(60)

    await client.lanes(64, act, buffer=4096)


@pattern("slow-reader", "answers read at one byte a second, 64 connections an address")
async def slow_reader(client: Client) -> None:
    """Occupy memory with responses that are read almost to their end."""
    block = client.facts.logged_block
    request = post(call("eth_getLogs", {"fromBlock": block, "toBlock": block}))

    async def act(connection: Connection) -> None:
        connection.stop_reading()
        raw = connection.writer.get_extra_info("socket")
        await connection.drain(request)
        for _ in client.ticks():
            with contextlib.suppress(BlockingIOError):
                raw._sock.recv(1)
            await asyncio.sleep(1.0)

    await client.lanes(64, act, buffer=4096)


@pattern("garbage", "random bytes in place of a request")
async def garbage(client: Client) -> None:
    """Exercise error paths."""

    async def act(connection: Connection) -> None:
        connection.send(client.draw.randbytes(2000) + b"\r\n\r\n")
        await asyncio.wait_for(discard(connection), 2.0)
        client.seen["ended"] += 1

    await _churning(client, act)


@pattern("two-lengths", "requests with two lengths, and with a length and chunks")
async def two_lengths(client: Client) -> None:
    """Attempt request smuggling with two lengths."""
    smuggled = head(4, None, "Transfer-Encoding: chunked") + b"0\r\n\r\n" + post(_BODY)
    await _requests(client, smuggled)


@pattern("health-flood", "GET /healthz, /readyz and /metrics without pause")
async def health_flood(client: Client) -> None:
    """Flood paths without a rate limit."""
    paths = [f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() for path in ("/healthz", "/readyz", "/metrics")]

    async def act(connection: Connection) -> None:
        for turn in client.ticks():
            connection.send(paths[turn % len(paths)])
            client.note(await connection.response())

    await client.lanes(LANES, act)


@pattern("pages-ahead", "hundreds of GET /metrics at once over 64 connections")
async def pages_ahead(client: Client) -> None:
    """Load the event loop from many connections in the same iteration."""
    await client.flood(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 64, read=True)


async def _requests(client: Client, request: bytes) -> None:
    """Send a request that ends its connection, in a loop."""

    async def act(connection: Connection) -> None:
        connection.send(request)
        client.note(await asyncio.wait_for(connection.response(), 5.0))

    await _churning(client, act)


async def _churning(client: Client, act: Act) -> None:
    await client.lanes(LANES, act, retry=0.0)
