"""A control group of Linux that limits the memory of a process, cached pages of its files included."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_REMOVAL_TIMEOUT = 10.0


class MemoryLimitError(Exception):
    """This machine cannot limit the memory of a process: it needs root and the memory controller."""


@dataclass(frozen=True, slots=True)
class MemoryGroup:
    """A control group with a limit."""

    folder: Path
    is_v2: bool

    def command(self, command: Sequence[str]) -> list[str]:
        """Return a command that enters the group and then runs `command`."""
        return ["/bin/sh", "-c", f'echo $$ > {self.folder / "cgroup.procs"} && exec "$@"', "sh", *command]

    def peak(self) -> int:
        """Return the highest use so far in bytes, cached pages included."""
        return self._read("memory.peak" if self.is_v2 else "memory.max_usage_in_bytes")

    def limit_hits(self) -> int:
        """Return how often the kernel had to reclaim memory at the limit."""
        if not self.is_v2:
            return self._read("memory.failcnt")
        events = dict(line.split() for line in (self.folder / "memory.events").read_text().splitlines())
        return int(events["max"])

    def _read(self, name: str) -> int:
        return int((self.folder / name).read_text())


@contextmanager
def memory_group(limit: int) -> Iterator[MemoryGroup]:
    """Create a control group with a limit in bytes, without swap, for the context. Raise MemoryLimitError."""
    is_v2 = (_GROUPS / "cgroup.controllers").exists()
    folder = (_GROUPS if is_v2 else _GROUPS / "memory") / f"foreseal-bench-{os.getpid()}"
    try:
        folder.mkdir()
        (folder / ("memory.max" if is_v2 else "memory.limit_in_bytes")).write_text(str(limit))
        # Swap would let the process hold more than the limit. Version 2 without swap accounting has no such file.
        swap = folder / ("memory.swap.max" if is_v2 else "memory.swappiness")
        if swap.exists():
            swap.write_text("0")
    except OSError as error:
        with suppress(OSError):
            folder.rmdir()
        raise MemoryLimitError(f"cannot limit memory by {folder}: {error}") from None
    try:
        yield MemoryGroup(folder, is_v2)
    finally:
        _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a group; the kernel needs a moment after the end of its last process."""
    end = time.monotonic() + _REMOVAL_TIMEOUT
    while True:
        try:
            folder.rmdir()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
        else:
            return
