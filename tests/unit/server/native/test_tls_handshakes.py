"""Unfinished TLS handshakes: their number per address, and their time limit."""

import asyncio
import contextlib
import ssl
from pathlib import Path

import pytest

from certificates import Certificates, certificates
from foreseal.rpc import Limits
from foreseal.server.native.connection_table import MAX_HANDSHAKES
from foreseal.server.settings.access import AccessSettings
from native_server import post, serving

from asgi_client import until


@pytest.fixture
def made(tmp_path: Path) -> Certificates:
    return certificates(tmp_path)


class Clients:
    """Clients of a TLS listener; all are closed at the end."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._writers: list[asyncio.StreamWriter] = []

    async def silent(self, address: str = "127.0.0.1") -> asyncio.StreamReader:
        """Connect and send nothing."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, local_addr=(address, 0))
        self._writers.append(writer)
        return reader

    async def call(self, made: Certificates, address: str = "127.0.0.1") -> bytes:
        """Call over TLS; return the status line, or nothing if the connection is closed."""
        context = ssl.create_default_context(cafile=str(made.ca))
        try:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", self._port, local_addr=(address, 0), ssl=context, server_hostname="127.0.0.1"
            )
        except OSError:
            return b""
        self._writers.append(writer)
        writer.write(post("echo"))
        return (await reader.readline()).strip()

    async def close(self) -> None:
        for writer in self._writers:
            writer.close()
        for writer in self._writers:
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def is_closed(reader: asyncio.StreamReader) -> bool:
    """Wait until the server closes the connection."""
    with contextlib.suppress(ConnectionError):
        assert await reader.read() == b""
    return True


async def test_an_address_with_too_many_unfinished_handshakes_gets_no_more(made: Certificates) -> None:
    async with serving(tls=made.issue()) as served:
        await served.listener.start()
        clients = Clients(served.port)
        async with asyncio.timeout(20):
            waiting = [await clients.silent() for _ in range(MAX_HANDSHAKES)]
            # Connections are accepted in order.
            assert await is_closed(await clients.silent())
            assert await clients.call(made) == b""
            assert served.listener.handler.refusals["address_connections"] == 2
            assert await clients.call(made, "127.0.0.2") == b"HTTP/1.1 200 OK"
            assert not any(reader.at_eof() for reader in waiting)
            await clients.close()
            table = served.listener.table
            await until(lambda: not table.account(("127.0.0.1", 0), 0).handshakes)
            again = Clients(served.port)
            assert await again.call(made) == b"HTTP/1.1 200 OK"
            await again.close()


async def test_a_handshake_ends_with_the_time_of_a_head(made: Certificates) -> None:
    async with serving(tls=made.issue(), limits=Limits(head_time=100)) as served:
        await served.listener.start()
        clients = Clients(served.port)
        async with asyncio.timeout(20):
            readers = [await clients.silent() for _ in range(MAX_HANDSHAKES)]
            assert all([await is_closed(reader) for reader in readers])
            assert await clients.call(made) == b"HTTP/1.1 200 OK"
            await clients.close()


async def test_handshakes_of_a_proxy_are_not_limited(made: Certificates) -> None:
    async with serving(tls=made.issue(), access=AccessSettings(trusted_proxies=frozenset({"127.0.0.1/32"}))) as served:
        await served.listener.start()
        clients = Clients(served.port)
        async with asyncio.timeout(20):
            for _ in range(2 * MAX_HANDSHAKES):
                await clients.silent()
            assert await clients.call(made) == b"HTTP/1.1 200 OK"
            await clients.close()
