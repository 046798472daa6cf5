"""The native transport on a Unix socket that only its owner may use."""

import contextlib
import os
import socket
import stat
from pathlib import Path

from foreseal.server.endpoint import Endpoint
from foreseal.server.native import NativeListener
from foreseal.server.sockets.address import UNIX, AddressError
from foreseal.server.sockets.listening import BACKLOG, STOP_TIME

_MODE = 0o600


def free_path(path: Path) -> None:
    """Remove the socket of a server that has ended. Raises `AddressError` if nothing can listen at `path`."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise AddressError(f"cannot listen at {UNIX}{path}: {path.parent} is not a folder") from None
        return
    except OSError as error:
        raise AddressError(f"cannot listen at {UNIX}{path}: {error.strerror or error}") from None
    if not stat.S_ISSOCK(mode):
        raise AddressError(f"cannot listen at {UNIX}{path}: the file exists and is not a socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise AddressError(f"cannot listen at {UNIX}{path}: {error.strerror or error}") from None
        else:
            raise AddressError(f"cannot listen at {UNIX}{path}: already in use by another server")


class UnixListener(NativeListener):
    """Serves at a path, which is removed at the end."""

    def __init__(self, endpoint: Endpoint, path: Path) -> None:
        """Listen at `path`, which must be free. Raises `AddressError`."""
        super().__init__(endpoint, _listen(path))
        self._path = path
        self._file = path.lstat().st_ino

    async def stop(self, seconds: float = STOP_TIME) -> None:
        """Remove the socket file, then stop as `NativeListener.stop` does."""
        with contextlib.suppress(OSError):
            if self._path.lstat().st_ino == self._file:
                self._path.unlink()
        await super().stop(seconds)


def _listen(path: Path) -> socket.socket:
    """Return a socket that listens at a free path. Raises `AddressError`."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # Before the file exists: it never has any other mode.
        os.fchmod(made.fileno(), _MODE)
        made.bind(str(path))
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        raise AddressError(f"cannot listen at {UNIX}{path}: {error.strerror or error}") from None
    return made
