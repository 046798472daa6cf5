"""The load balancer of `foreseal cluster dev`, in front of targets whose health a test sets."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from foreseal.cluster.load_balancer import LoadBalancer
from foreseal.server.sockets.listening import listen


class HealthDouble:
    """A target that answers `/readyz` with a status, and everything else with its name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.status = 200
        self.port = 0
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen at any free port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def stop(self) -> None:
        """Accept no more connections."""
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await reader.readline():
                if request.startswith(b"GET /readyz"):
                    writer.write(b"HTTP/1.1 %d \r\n\r\n" % self.status)
                elif request.strip() == b"name":
                    writer.write(f"{self.name}\n".encode())
        except OSError:
            pass
        finally:
            writer.close()


@contextlib.asynccontextmanager
async def balanced(*targets: HealthDouble) -> AsyncIterator[LoadBalancer]:
    """Run a load balancer in front of the targets."""
    for target in targets:
        await target.start()
    balancer = LoadBalancer([target.port for target in targets])
    await balancer.start(listen("127.0.0.1", 0))
    try:
        yield balancer
    finally:
        await balancer.stop()
        for target in targets:
            target.stop()


async def reached(balancer: LoadBalancer) -> str:
    """Return the name of the target of a new connection; empty if it is closed without an answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", balancer.port)
    try:
        writer.write(b"name\n")
        return (await asyncio.wait_for(reader.readline(), 30)).decode().strip()
    except ConnectionError:
        return ""
    finally:
        writer.close()


async def test_without_a_ready_target_those_that_answer_are_used() -> None:
    one, other = HealthDouble("one"), HealthDouble("other")
    one.status = other.status = 503
    async with balanced(one, other) as balancer:
        assert await reached(balancer) in ("one", "other")
        other.stop()
        async with asyncio.timeout(30):
            while [await reached(balancer) for _ in range(4)] != ["one"] * 4:
                pass


async def test_connections_move_to_a_target_that_becomes_ready() -> None:
    one, other = HealthDouble("one"), HealthDouble("other")
    one.status = other.status = 503
    async with balanced(one, other) as balancer:
        reader, writer = await asyncio.open_connection("127.0.0.1", balancer.port)
        writer.write(b"name\n")
        used = (await reader.readline()).decode().strip()
        ready = other if used == "one" else one
        ready.status = 200
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), 30) == b""
        writer.close()
        assert await reached(balancer) == ready.name


async def test_connection_without_a_target_is_closed() -> None:
    only = HealthDouble("only")
    async with balanced(only) as balancer:
        assert await reached(balancer) == "only"
        only.stop()
        assert await reached(balancer) == ""
