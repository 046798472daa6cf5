"""Where the processes of a node meet: the private socket of its feed."""

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from foreseal.server.address import LONGEST_PATH
from foreseal.server.settings import SettingsError

_NAME = "feed.sock"
_PRIVATE = 0o700


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
