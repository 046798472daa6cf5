"""Clients keep an idle connection for their next request, also while many others are busy."""

import asyncio
from typing import Any

import pytest

from foreseal.client.http import AsyncHttpTransport
from foreseal.client.options import Options
from foreseal.merchant.async_transport import AsyncTransport

BUSY = 25


class Server:
    """Answers /short at once, and /long when it is told to."""

    def __init__(self) -> None:
        self.connections = self.waiting = 0
        self.end, self.full = asyncio.Event(), asyncio.Event()
        self.tasks: list[asyncio.Task[Any] | None] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.tasks.append(asyncio.current_task())
        try:
            while True:
                if b"/long" in await reader.readuntil(b"\r\n\r\n"):
                    self.waiting += 1
                    if self.waiting == BUSY:
                        self.full.set()
                    await self.end.wait()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)


@pytest.mark.parametrize(
    "create",
    [lambda url: AsyncHttpTransport(url, Options())._client, lambda url: AsyncTransport(url, "key")._http],
    ids=["client", "merchant"],
)
async def test_an_idle_connection_is_kept_while_others_are_busy(create: Any) -> None:
    server = Server()
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        async with create(url) as http:
            busy = [asyncio.ensure_future(http.get(f"{url}/long")) for _ in range(BUSY)]
            await server.full.wait()
            for _ in range(10):
                await http.get(f"{url}/short")
            assert server.connections == BUSY + 1
            server.end.set()
            await asyncio.gather(*busy)
        await asyncio.gather(*filter(None, server.tasks))
