"""Folders for the data of test chains."""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108 - subfolders are created in it
"""Folder in memory, where fsync is free."""
MIN_FREE = 64 << 20
"""Bytes that `MEMORY` must have free for another chain, which takes 2 MiB at first. A container often has 64 MiB."""
_PREFIX = "foreseal-test-"
# Seconds after its creation in which the node may not have locked its folder yet.
_UNLOCKED_TIME = 60
_cleaned: set[Path] = set()


@contextlib.contextmanager
def chain_folder() -> Iterator[Path]:
    """Provide a new folder, in memory if there is room, and delete it at the end.

    The first call in a process also deletes the folders of processes that were killed.
    """
    parent = MEMORY if _has_room(MEMORY) else Path(tempfile.gettempdir())
    if parent not in _cleaned:
        _cleaned.add(parent)
        remove_abandoned(parent)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent) as folder:
        yield Path(folder)


def remove_abandoned(parent: Path) -> None:
    """Delete the folders of test chains in `parent` that no node has locked."""
    newest = time.time() - _UNLOCKED_TIME
    for folder in parent.glob(f"{_PREFIX}*"):
        # Folders of other users, and those that another process is deleting, are skipped.
        with contextlib.suppress(OSError):
            status = folder.lstat()
            if status.st_uid == os.getuid() and status.st_mtime < newest:
                with _locked(folder):
                    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder as a node does. The kernel unlocks it if the process is killed. Raise OSError if it is locked."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _has_room(folder: Path) -> bool:
    """Return True if a chain can be stored in `folder`."""
    try:
        return os.access(folder, os.W_OK | os.X_OK) and shutil.disk_usage(folder).free > MIN_FREE
    except OSError:
        return False
