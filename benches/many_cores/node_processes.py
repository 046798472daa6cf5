"""Sequencer and workers of a running node, and the processor time of their threads."""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_MODULE = b"foreseal.supervisor.process"
# The thread of a starting node that loads the trusted setup of blobs at the lowest priority.
_LOADING = "foreseal-kzg"
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class CpuReading:
    """Processor time of one process so far, in seconds."""

    threads: Mapping[int, float]
    """By thread."""
    kernel: float
    """Time in the kernel; a multiple of the clock tick."""
    names: Mapping[int, str] = field(default_factory=dict)

    def since(self, before: "CpuReading") -> "CpuReading":
        """Return the time since an earlier reading; a thread that ended meanwhile is missing."""
        used = {thread: seconds - before.threads.get(thread, 0.0) for thread, seconds in self.threads.items()}
        return CpuReading(used, self.kernel - before.kernel, self.names)

    @property
    def total(self) -> float:
        """Return the time of all threads."""
        return sum(self.threads.values())

    @property
    def busiest(self) -> float:
        """Return the time of the thread with the most of it."""
        return max(self.threads.values(), default=0.0)

    def by_name(self) -> dict[str, float]:
        """Return the time by thread name, largest first."""
        totals: dict[str, float] = {}
        for thread, seconds in self.threads.items():
            name = self.names[thread]
            totals[name] = totals.get(name, 0.0) + seconds
        return dict(sorted(totals.items(), key=lambda entry: -entry[1]))


def read_cpu(pid: int) -> CpuReading:
    """Read the processor time of a process."""
    threads, names = {}, {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            threads[int(task.name)] = int((task / "schedstat").read_text().split()[0]) / 1e9
            names[int(task.name)] = (task / "comm").read_text().strip()
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return CpuReading(threads, int(stat[12]) / _TICKS, names)


@dataclass(frozen=True, slots=True)
class NodeProcesses:
    """Process ids; with one process it is both sequencer and only worker."""

    sequencer: int
    workers: tuple[int, ...]


def find_processes(supervisor: int) -> NodeProcesses:
    """Return the processes below a supervisor, or the process itself if it has none."""
    pids: dict[str, int] = {}
    for task in Path(f"/proc/{supervisor}/task").iterdir():
        for child in (task / "children").read_text().split():
            words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            if _MODULE in words:
                pids[words[words.index(_MODULE) + 1].decode()] = int(child)
    if not pids:
        return NodeProcesses(supervisor, (supervisor,))
    sequencer = pids.pop("sequencer")
    return NodeProcesses(sequencer, tuple(pids[name] for name in sorted(pids)))


def wait_until_loaded(processes: NodeProcesses, limit: float = 120.0) -> None:
    """Wait until the work in the background of a start ends; TimeoutError after `limit` seconds."""
    deadline = time.monotonic() + limit
    while any(_LOADING in read_cpu(pid).names.values() for pid in (processes.sequencer, *processes.workers)):
        if time.monotonic() > deadline:
            raise TimeoutError(f"a process did not load the trusted setup of blobs within {limit:g} s")
        time.sleep(0.1)
