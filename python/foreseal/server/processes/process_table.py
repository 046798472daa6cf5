"""Metrics of the processes of a node, written by the supervisor, read by the others. Standard library only."""

import fcntl
import mmap
import os
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass

RESTART_REASONS = ("died", "wedged")
"""Reasons for a restart."""

# Name, restarts by reason, time of the last heartbeat on the monotonic clock, which all processes share.
_ROW = struct.Struct("=16sQQd")
_NAME_SIZE = 16


@dataclass(frozen=True, slots=True)
class ProcessMetrics:
    """Metrics of one process."""

    name: str
    restarts: dict[str, int]
    """Restarts by reason."""
    heartbeat_age: float | None
    """Seconds since the last heartbeat; None before the first."""


class ProcessTable:
    """Shared memory with a row for each process."""

    def __init__(self, fd: int, *, writable: bool = False) -> None:
        """Map the memory behind a descriptor of `create_process_table`. Raises OSError."""
        size = os.fstat(fd).st_size
        self._memory = mmap.mmap(fd, size, prot=mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0))
        self._rows = size // _ROW.size

    def metrics(self) -> list[ProcessMetrics]:
        """Return the metrics of all processes."""
        return [self._row_metrics(row) for row in range(self._rows)]

    def record_heartbeat(self, name: str) -> None:
        """Record a heartbeat of a process."""
        self._update(name, heartbeat=time.monotonic())

    def record_restart(self, name: str, reason: str) -> None:
        """Record the restart of a process that ended for one of `RESTART_REASONS`."""
        self._update(name, reason=reason)

    def _row_metrics(self, row: int) -> ProcessMetrics:
        name, *restarts, heartbeat = _ROW.unpack_from(self._memory, row * _ROW.size)
        age = max(time.monotonic() - heartbeat, 0.0) if heartbeat else None
        return ProcessMetrics(name.rstrip(b"\0").decode(), dict(zip(RESTART_REASONS, restarts, strict=True)), age)

    def _update(self, name: str, *, heartbeat: float | None = None, reason: str | None = None) -> None:
        key = _key(name)
        for row in range(self._rows):
            stored_key, *restarts, before = _ROW.unpack_from(self._memory, row * _ROW.size)
            if stored_key == key:
                if reason is not None:
                    restarts[RESTART_REASONS.index(reason)] += 1
                _ROW.pack_into(self._memory, row * _ROW.size, key, *restarts, heartbeat or before)


def create_process_table(names: Sequence[str]) -> int:
    """Return a descriptor of memory with a row for each name. Raises OSError."""
    fd = os.memfd_create("foreseal-processes", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, b"".join(_ROW.pack(_key(name), *(0 for _ in RESTART_REASONS), 0.0) for name in names))
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return fd


def _key(name: str) -> bytes:
    return name.encode()[:_NAME_SIZE].ljust(_NAME_SIZE, b"\0")
