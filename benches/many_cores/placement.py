"""Cores of the sequencer, of the workers and of the load generators."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Placement:
    """Cores by role."""

    sequencer: tuple[int, ...]
    workers: tuple[tuple[int, ...], ...]
    """Cores of each worker."""
    generators: tuple[int, ...]
    is_parallel: bool
    """True if each worker has a core of its own, which it shares with no other process of the measurement."""

    def figures(self) -> dict[str, Any]:
        """Return it for a result."""
        return {
            "sequencer": list(self.sequencer),
            "workers": [list(cores) for cores in self.workers],
            "generators": list(self.generators),
            "is_parallel": self.is_parallel,
        }


def place(cores: Sequence[int], workers: int) -> Placement:
    """Divide cores; on too few of them the workers share the upper half, and the sequencer is with the generators.

    With enough cores, each worker and the sequencer have one, and the generators have the rest: at least one.
    """
    if len(cores) >= workers + 2:
        own = tuple((core,) for core in cores[1 : workers + 1])
        return Placement((cores[0],), own, tuple(cores[workers + 1 :]), is_parallel=True)
    half = max(1, len(cores) // 2)
    shared = tuple(cores[half:]) or tuple(cores)
    return Placement(tuple(cores[:half]), (shared,) * workers, tuple(cores[:half]), is_parallel=False)


def pin(pid: int, cores: Sequence[int]) -> None:
    """Pin all threads of a process; a thread that it starts later inherits the cores of its creator."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(ProcessLookupError):
            os.sched_setaffinity(int(task.name), cores)
