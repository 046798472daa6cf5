"""Path of the private feed socket between the processes of a node."""

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from foreseal.server.settings import SettingsError
from foreseal.server.sockets.address import MAX_PATH_SIZE

_NAME = "feed.sock"
_PRIVATE = 0o700


def feed_path(datadir: Path, environment: Mapping[str, str], stack: contextlib.ExitStack) -> Path:
    """Return the path of the feed socket of the sequencer, in a folder that no other user may enter.

    The folder is in the data directory. If that path is too long for a Unix socket, it is a new folder below
    XDG_RUNTIME_DIR or the temporary directory, which `stack` removes. Raises `SettingsError` and OSError.
    """
    folder = datadir.absolute() / "feed"
    if _fits(folder):
        folder.mkdir(_PRIVATE, parents=True, exist_ok=True)
        folder.chmod(_PRIVATE)
        return folder / _NAME
    base = environment.get("XDG_RUNTIME_DIR") or None
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="foreseal-", dir=base)))
    if not _fits(folder):
        raise SettingsError(f"the path of the socket between processes is too long: {folder / _NAME}")
    return folder / _NAME


def _fits(folder: Path) -> bool:
    return len(os.fsencode(folder / _NAME)) <= MAX_PATH_SIZE
