"""Addresses at which the processes of a node connect."""

import contextlib
import os
import socket
import stat
from pathlib import Path

import pytest

from foreseal.server.settings import SettingsError
from foreseal.server.sockets.address import MAX_PATH_SIZE
from foreseal.supervisor.feed_socket import feed_path


def private(folder: Path) -> bool:
    return stat.S_IMODE(folder.stat().st_mode) == 0o700


def usable(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.bind(str(path))
    return path.is_socket()


def test_feed_socket_is_in_a_private_folder_of_the_datadir(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        path = feed_path(tmp_path / "data", {}, stack)
        assert path.parent == tmp_path / "data" / "feed"
        assert private(path.parent)
        assert usable(path)
    assert path.exists()


def test_folder_with_open_permissions_is_restricted(tmp_path: Path) -> None:
    (tmp_path / "feed").mkdir(mode=0o755)
    with contextlib.ExitStack() as stack:
        assert private(feed_path(tmp_path, {}, stack).parent)


@pytest.mark.parametrize("length", [MAX_PATH_SIZE, MAX_PATH_SIZE + 1])
def test_too_long_socket_path_uses_the_runtime_folder(tmp_path: Path, length: int) -> None:
    runtime = tmp_path / "r"
    runtime.mkdir()
    base = os.path.join(tmp_path, "")
    datadir = Path(base + "d" * (length - len(base) - len("/feed/feed.sock")))
    with contextlib.ExitStack() as stack:
        path = feed_path(datadir, {"XDG_RUNTIME_DIR": str(runtime)}, stack)
        assert (runtime in path.parents) == (length > MAX_PATH_SIZE)
        assert private(path.parent)
        assert usable(path)
    assert path.exists() == (length == MAX_PATH_SIZE)


def test_no_usable_socket_path_is_a_clear_error(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * MAX_PATH_SIZE)
    deep.mkdir()
    with contextlib.ExitStack() as stack, pytest.raises(SettingsError, match="too long"):
        feed_path(deep, {"XDG_RUNTIME_DIR": str(deep)}, stack)
    assert not any(deep.iterdir())
