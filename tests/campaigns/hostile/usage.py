"""Memory, threads, descriptors and processor time of processes, read from /proc."""

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage of several processes together, at one moment of the monotonic clock."""

    at: float
    anonymous: int
    """RssAnon, KiB."""
    resident: int
    """VmRSS, KiB."""
    threads: int
    descriptors: int
    processor: float
    """Seconds of processor time."""


def measure(pids: list[int]) -> Usage:
    """Measure the usage of the processes that still run."""
    anonymous = resident = threads = descriptors = 0
    processor = 0.0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            values = dict(line.split(":", 1) for line in lines)
            if "RssAnon" not in values:
                continue
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            descriptors += len(os.listdir(f"/proc/{pid}/fd"))
        except (FileNotFoundError, ProcessLookupError):
            continue
        anonymous += int(values["RssAnon"].split()[0])
        resident += int(values["VmRSS"].split()[0])
        threads += int(values["Threads"])
        processor += (int(fields[11]) + int(fields[12])) / _TICKS
    return Usage(time.monotonic(), anonymous, resident, threads, descriptors, processor)


class Sampler:
    """Samples the usage of processes in a thread until it is stopped."""

    def __init__(self, pids: list[int], interval: float = 0.1) -> None:
        self._pids = pids
        self._interval = interval
        self._stop = threading.Event()
        self.samples: list[Usage] = [measure(pids)]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self) -> "Sampler":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop the thread."""
        self._stop.set()
        self._thread.join()

    def within(self, begin: float, end: float) -> list[Usage]:
        """Return the samples of an interval; at least the newest one before its end."""
        found = [sample for sample in self.samples if begin <= sample.at <= end]
        return found or [sample for sample in self.samples if sample.at <= end][-1:] or self.samples[:1]

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            self.samples.append(measure(self._pids))
