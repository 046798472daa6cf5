"""The lock of a local cluster's folder."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from foreseal.errors import NodeError

_MAX_DIGITS = 20


@contextlib.contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Create a folder and hold its lock, which ends with this process. Raises OSError, NodeError of kind "in-use"."""
    folder.mkdir(parents=True, exist_ok=True)
    # Appending does not change the process id of the holder.
    with (folder / "LOCK").open("a+", encoding="ascii", errors="replace") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read(_MAX_DIGITS).strip()
            process = f" by process {holder}" if holder.isdecimal() else ""
            message = f"cluster {folder} is in use{process}: stop that process, or choose another folder with --datadir"
            raise NodeError("in-use", message) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
