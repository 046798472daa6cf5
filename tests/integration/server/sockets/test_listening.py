"""The listening socket, and the connection limit."""

import asyncio
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from foreseal.errors import NodeError
from foreseal.server import App, Settings
from foreseal.server.sockets.address import AddressError
from foreseal.server.sockets.listening import _KEEP_ALIVE, listen

from fake_core import FakeNode

ROOM = (
    "from foreseal.server.sockets.listening import raise_connection_limit; import resource; {limit}; "
    "print(raise_connection_limit({wanted}))"
)
LIMIT = "resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0"])
def test_a_free_port_is_found(host: str) -> None:
    with listen(host, 0) as listening, socket.create_connection(("127.0.0.1", listening.getsockname()[1])) as line:
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            # A vanished client is detected within a minute and a half, not after the system's two hours.
            idle, every, times = (accepted.getsockopt(socket.IPPROTO_TCP, option) for option in _KEEP_ALIVE)
            assert idle + every * times < 90
            assert line.getpeername() == accepted.getsockname()


def test_occupied_port_is_a_clear_error() -> None:
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(AddressError, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"):
            listen("127.0.0.1", port)


async def test_admin_port_is_reserved_while_the_node_opens() -> None:
    with listen("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    node = FakeNode()

    def open_node(_: bytes) -> FakeNode:
        with pytest.raises(AddressError, match="already in use"):
            listen("127.0.0.1", port).close()
        return node

    app = App(Settings(Path("unused"), admin=("127.0.0.1", port)), make_node=open_node)
    await app.startup()
    try:
        assert app.admin_url == f"http://127.0.0.1:{port}"
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
    finally:
        await app.shutdown()
    listen("127.0.0.1", port).close()


def test_failed_open_releases_the_port() -> None:
    def refuse(_: bytes) -> FakeNode:
        raise NodeError("in-use", "somebody has it")

    with listen("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    with pytest.raises(NodeError):
        asyncio.run(App(Settings(Path("unused"), admin=("127.0.0.1", port)), make_node=refuse).startup())
    listen("127.0.0.1", port).close()


def room(wanted: int, soft: int, hard: int) -> tuple[int, str]:
    """Return the connection limit of a process with these descriptor limits, and its log."""
    code = ROOM.format(wanted=wanted, limit=LIMIT.format(soft=soft, hard=hard))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout), done.stderr


def test_descriptor_limit_is_raised_for_the_connections() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert hard > 4096 or hard == resource.RLIM_INFINITY
    assert room(3000, 1024, 4096) == (3000, "")


def test_low_open_file_limit_reduces_connections_and_is_logged() -> None:
    given, logged = room(16_384, 1024, 2048)
    assert given == 2048 - 512
    assert "open file limit" in logged
