"""TLS: expensive, unfinished or invalid handshakes."""

import asyncio
import contextlib
import ssl

from hostile.client import LANES, Act, Client, discard
from hostile.patterns.registry import pattern
from hostile.wire import HOST, Connection, call, post

_HELD = 128
_CLIENT_HELLO_START = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
_RECORD_START = b"\x16\x03\x01\x3f\xff"
_LARGEST_RECORD = 16_384


@pattern("tls-slow-handshake", "client hellos that arrive one byte a second, 128 connections an address", tls=True)
async def slow_handshake(client: Client) -> None:
    """Hold slow handshakes."""
    await _plain(client, _HELD, _CLIENT_HELLO_START, b"\x00", 1.0)


@pattern("tls-silent", "connections without a client hello, 400 an address", tls=True)
async def silent(client: Client) -> None:
    """Occupy slots for pending handshakes."""
    await _plain(client, 400, b"", b"", 1.0)


@pattern("tls-churn", "full handshakes, each followed by a close", tls=True)
async def churn(client: Client) -> None:
    """Force a handshake signature per connection."""

    async def act(connection: Connection) -> None:
        client.seen["handshakes"] += 1

    await client.lanes(LANES, act, retry=0.0)


@pattern("tls-call-churn", "a full handshake for each call", tls=True)
async def call_churn(client: Client) -> None:
    """Force a handshake signature and a call per connection."""
    body = call("eth_blockNumber")

    async def act(connection: Connection) -> None:
        client.note(await connection.post(body))

    await client.lanes(LANES, act, retry=0.0)


@pattern(
    "tls-renegotiation", "sessions of TLS 1.2 that the client renegotiates over and over, by openssl s_client", tls=True
)
async def renegotiation(client: Client) -> None:
    """Force handshakes without new connections."""
    command = ["openssl", "s_client", "-tls1_2", "-quiet", "-connect", f"{HOST}:{client.port}", "-bind", client.address]
    for _ in client.ticks():
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
        except FileNotFoundError:
            client.seen["openssl is missing"] += 1
            return
        await _renegotiate(client, process)


async def _renegotiate(client: Client, process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    try:
        client.seen["connections"] += 1
        # A line that contains only R makes openssl start another handshake.
        while process.returncode is None:
            process.stdin.write(b"R\n")
            await process.stdin.drain()
            client.seen["renegotiations"] += 1
            await asyncio.sleep(0.01)
    except ConnectionError:
        client.seen["ended"] += 1
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pattern("tls-hello-inside", "client hellos inside a session of TLS 1.2, as application data", tls=True)
async def hello_inside(client: Client) -> None:
    """Exercise error paths after a complete handshake."""
    client.tls = _old_context(client)

    async def act(connection: Connection) -> None:
        await connection.drain(post(call("eth_blockNumber")) + _CLIENT_HELLO_START + bytes(500))
        client.note(await connection.response())

    await client.lanes(LANES, act, retry=0.0)


@pattern("tls-second-hello", "a second client hello in plain text after the first handshake flight", tls=True)
async def second_hello(client: Client) -> None:
    """Confuse the state machine with a second ClientHello."""
    hello = _client_hello()

    async def act(connection: Connection) -> None:
        connection.send(hello + hello)
        await asyncio.wait_for(discard(connection), 3.0)
        client.seen["ended"] += 1

    await _lanes_plain(client, LANES, act)


@pattern("tls-garbage", "random records in place of a handshake", tls=True)
async def garbage(client: Client) -> None:
    """Exercise error paths."""

    async def act(connection: Connection) -> None:
        connection.send(_RECORD_START + client.draw.randbytes(_LARGEST_RECORD))
        await asyncio.wait_for(discard(connection), 3.0)
        client.seen["ended"] += 1

    await _lanes_plain(client, LANES, act)


@pattern("tls-tiny-records", "calls in TLS records of one byte", tls=True)
async def tiny_records(client: Client) -> None:
    """Force one decryption per byte."""
    request = post(call("eth_blockNumber"))

    async def act(connection: Connection) -> None:
        for _ in client.ticks():
            for byte in request:
                connection.send(bytes([byte]))
            await connection.drain()
            client.note(await connection.response())

    await client.lanes(LANES, act)


@pattern("tls-plain", "plain HTTP to a listener of TLS", tls=True)
async def plain(client: Client) -> None:
    """Exercise error paths with plain HTTP."""

    async def act(connection: Connection) -> None:
        connection.send(post(call("eth_blockNumber")))
        await asyncio.wait_for(discard(connection), 3.0)
        client.seen["ended"] += 1

    await _lanes_plain(client, LANES, act)


def _old_context(client: Client) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=client.facts.certificate)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context


def _client_hello() -> bytes:
    """Return the first flight of a client handshake."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()


async def _plain(client: Client, count: int, opening: bytes, piece: bytes, interval: float) -> None:
    client.tls = None
    await client.trickle(opening, piece, interval, count)


async def _lanes_plain(client: Client, count: int, act: Act) -> None:
    client.tls = None
    await client.lanes(count, act)
