"""Processor time and memory of a node's processes, from their CPU clocks and /proc."""

import os
import time
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")
# Fields of /proc/PID/stat after the command name.
_PARENT, _RESIDENT = 1, 21
# Linux derives the ID of a process's CPU clock with this value (CPUCLOCK_SCHED).
_CLOCK = 2


class ProcessGroup:
    """A process and all its descendants."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def cpu(self) -> float:
        """Return processor time in seconds, ended threads included; exact to far less than a microsecond."""
        seconds = 0.0
        for pid in self._stats():
            with suppress(OSError):
                seconds += time.clock_gettime(~pid << 3 | _CLOCK)
        return seconds

    def members(self) -> list[int]:
        """Return the IDs of the processes, the first one of the group first."""
        return sorted(self._stats(), key=lambda pid: (pid != self.pid, pid))

    def resident(self) -> int:
        """Return resident memory in bytes; shared pages count for each process."""
        return sum(int(fields[_RESIDENT]) for fields in self._stats().values()) * _PAGE

    def anonymous(self) -> int:
        """Return resident memory in bytes that no file backs, such as the heap; mapped stores and code are excluded."""
        return self._status_bytes("RssAnon:")

    def peak(self) -> int:
        """Return the highest resident memory so far in bytes; that of each process, at any time, is added."""
        return self._status_bytes("VmHWM:")

    def _status_bytes(self, field: str) -> int:
        """Return the sum of a field of /proc/PID/status over all processes."""
        total = 0
        for pid in self._stats():
            with suppress(OSError):
                for line in (_PROC / str(pid) / "status").read_text().splitlines():
                    if line.startswith(field):
                        total += int(line.split()[1]) * 1024
        return total

    def _stats(self) -> dict[int, list[str]]:
        stats = {}
        for path in _PROC.glob("[0-9]*/stat"):
            with suppress(OSError):
                stats[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
        pids = {self.pid}
        while more := {pid for pid, fields in stats.items() if int(fields[_PARENT]) in pids} - pids:
            pids |= more
        return {pid: stats[pid] for pid in pids if pid in stats}


def listening_on(port: int) -> ProcessGroup | None:
    """Return the process on this machine that listens on a TCP port; None if there is none that can be observed."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (_PROC / "net" / table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    inodes.add(f"socket:[{fields[9]}]")
    holders = [int(process.name) for process in _PROC.glob("[0-9]*") if inodes and _holds(process, inodes)]
    # A supervisor and its workers hold the same socket; the supervisor started first.
    return ProcessGroup(min(holders)) if holders else None


def _holds(process: Path, sockets: set[str]) -> bool:
    """Return True if a process, which may end at any time, has one of these sockets open."""
    with suppress(OSError):
        for descriptor in os.listdir(process / "fd"):
            with suppress(OSError):
                if os.readlink(process / "fd" / descriptor) in sockets:
                    return True
    return False
