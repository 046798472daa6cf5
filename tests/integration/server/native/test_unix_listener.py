"""The admin listener on a Unix socket: its permissions and the life of its file."""

import asyncio
import os
import socket
import stat
from pathlib import Path

import pytest

from foreseal.server import App, Settings
from foreseal.server.endpoint import Endpoint
from foreseal.server.native.unix_listener import UnixListener, free_path
from foreseal.server.sockets.address import AddressError, is_loopback, parse_admin_address
from unix_http import UnixConnection

from fake_core import FakeNode


async def endpoint(folder: Path) -> tuple[App, Endpoint]:
    """Return a started application and its endpoint."""
    app = App(Settings(folder), make_node=FakeNode)
    await app.startup()
    return app, app.endpoint


def get_health(path: Path) -> bytes:
    connection = UnixConnection(path)
    connection.request("GET", "/healthz")
    answer = connection.getresponse().read()
    connection.close()
    return answer


async def test_unix_socket_is_private_and_removed_at_the_stop(tmp_path: Path) -> None:
    path = tmp_path / "admin.sock"
    app, answers = await endpoint(tmp_path)
    before = os.umask(0)
    try:
        listener = UnixListener(answers, path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert listener.url == f"unix:{path}"
    assert await listener.start()
    assert await asyncio.to_thread(get_health, path) == b"ok\n"
    with pytest.raises(AddressError, match="already in use by another server"):
        free_path(path)
    await listener.stop()
    assert not path.exists()
    await app.shutdown()


async def test_replaced_socket_file_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "admin.sock"
    app, answers = await endpoint(tmp_path)
    listener = UnixListener(answers, path)
    await listener.start()
    path.unlink()
    path.write_text("another's")
    await listener.stop()
    await app.shutdown()
    assert path.read_text() == "another's"


def test_stale_socket_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "admin.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    free_path(path)
    assert not path.exists()
    free_path(path)


async def test_unusable_socket_path_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("kept")
    with pytest.raises(AddressError, match="the file exists and is not a socket"):
        free_path(file)
    assert file.read_text() == "kept"
    with pytest.raises(AddressError, match="nowhere is not a folder"):
        free_path(tmp_path / "nowhere" / "s")
    app, answers = await endpoint(tmp_path)
    with pytest.raises(AddressError, match=r"cannot listen at unix:.*: Address already in use"):
        UnixListener(answers, file)
    await app.shutdown()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("unix:/run/a.sock", Path("/run/a.sock")),
        ("unix:a.sock", Path("a.sock")),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("[::1]:8546", ("::1", 8546)),
    ],
)
def test_admin_addresses_are_parsed(text: str, address: object) -> None:
    assert parse_admin_address(text) == address


@pytest.mark.parametrize("text", ["unix:", "unix:/", "unix:/" + "x" * 107, "8546", "/run/a.sock"])
def test_invalid_admin_address_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        parse_admin_address(text)


@pytest.mark.parametrize(
    ("host", "is_one"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("LOCALHOST", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_loopback_addresses_are_recognized(host: str, is_one: bool) -> None:
    assert is_loopback(host) is is_one
