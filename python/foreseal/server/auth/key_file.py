"""Atomic, serialized changes of the file of API keys."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from foreseal.server.auth import keys
from foreseal.server.auth.keys import ApiKey, KeyFileError

_PRIVATE = 0o600


@contextlib.contextmanager
def update_keys(folder: Path) -> Iterator[dict[str, ApiKey]]:
    """Provide the keys of a data directory by id, and write the block's changes unless it fails.

    Running nodes see the old file or the new one. Raises `KeyFileError`.
    """
    path = folder / keys.KEY_FILE
    with contextlib.ExitStack() as held:
        with _writing(path):
            directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            held.callback(os.close, directory)
            # Not the folder itself: a running node holds the lock on that.
            lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, _PRIVATE)
            held.callback(os.close, lock)
            _chown_to_owner(lock, folder)
            fcntl.flock(lock, fcntl.LOCK_EX)
        api_keys = keys.read_keys(path)
        yield api_keys
        with _writing(path):
            _replace(path, keys.encode_keys(api_keys))
            os.fsync(directory)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Convert OSError into `KeyFileError` with the path."""
    try:
        yield
    except OSError as error:
        raise KeyFileError(f"cannot write the API keys in {path}: {error.strerror or error}") from None


def _replace(path: Path, content: bytes) -> None:
    new = path.with_suffix(".new")
    # Left by a process that was killed; its mode may be wrong.
    new.unlink(missing_ok=True)
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
    try:
        _chown_to_owner(fd, path.parent)
        with open(fd, "wb", closefd=False) as file:
            file.write(content)
        os.fsync(fd)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)


def _chown_to_owner(fd: int, folder: Path) -> None:
    """Change a file created by root to the owner of the data directory, whose node has to read it."""
    folder_stat = folder.stat()
    if os.geteuid() == 0 and folder_stat.st_uid != 0:
        os.fchown(fd, folder_stat.st_uid, folder_stat.st_gid)
