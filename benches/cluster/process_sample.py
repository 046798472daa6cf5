"""Memory, processor time and disk use of processes of a cluster."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from foreseal.bench.process_usage import ProcessGroup
from foreseal.cluster.launched_process import LaunchedProcess


@dataclass(frozen=True, slots=True)
class ProcessSample:
    """One reading of a process."""

    name: str
    resident: int
    """Resident memory in bytes, children included: `anonymous` and pages of mapped files, such as a store."""
    anonymous: int
    """Resident memory in bytes that no file backs."""
    disk: int
    """Allocated bytes of its data directory."""


def sample(process: LaunchedProcess, folder: Path) -> ProcessSample:
    """Return memory of a process and disk use of its folder; zeros for a process that does not run."""
    if not process.pid:
        return ProcessSample(process.name, 0, 0, disk_use(folder))
    group = ProcessGroup(process.pid)
    return ProcessSample(process.name, group.resident(), group.anonymous(), disk_use(folder))


def cpu_seconds(*processes: LaunchedProcess) -> float:
    """Return the processor time of running processes in seconds."""
    return sum(ProcessGroup(process.pid).cpu() for process in processes if process.pid)


def resident_mb(process: LaunchedProcess) -> float:
    """Return the resident memory of a process in MB."""
    return round(ProcessGroup(process.pid).resident() / 1e6, 1) if process.pid else 0.0


def disk_use(folder: Path) -> int:
    """Return the allocated bytes of the files below a folder; files that vanish meanwhile count as zero."""
    used = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            if path.is_file():
                used += path.stat().st_blocks * 512
    return used
