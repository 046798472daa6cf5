"""Where the processes of a node meet: the listening socket of its clients, and the private one of its feed."""

import contextlib
import os
import socket
import tempfile
from collections.abc import Mapping
from pathlib import Path

from foreseal.server.address import AddressError
from foreseal.server.settings import SettingsError
from foreseal.server.shared import BACKLOG

_NAME = "feed.sock"
# Bytes of the path of a Unix socket, without the zero at its end.
LONGEST_PATH = 107
_PRIVATE = 0o700


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on `host`:`port` (0: any free one). Raises `AddressError`."""
    try:
        family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # What is accepted has it too.
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            listening.bind(where)
            listening.listen(BACKLOG)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        raise AddressError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    return listening


def feed_path(datadir: Path, environment: Mapping[str, str], stack: contextlib.ExitStack) -> Path:
    """Where the sequencer and its followers meet: in a folder that no other user may enter.

    It is in the data directory, or, where that makes too long a path for a Unix socket, in a folder of its own below
    XDG_RUNTIME_DIR or the one for temporary files, which `stack` removes. Raises `SettingsError` and OSError.
    """
    folder = datadir.absolute() / "feed"
    if _fits(folder):
        folder.mkdir(_PRIVATE, parents=True, exist_ok=True)
        folder.chmod(_PRIVATE)
        return folder / _NAME
    base = environment.get("XDG_RUNTIME_DIR") or None
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="foreseal-", dir=base)))
    if not _fits(folder):
        raise SettingsError(f"no path for the socket between processes is short enough: {folder / _NAME}")
    return folder / _NAME


def _fits(folder: Path) -> bool:
    return len(os.fsencode(folder / _NAME)) <= LONGEST_PATH
