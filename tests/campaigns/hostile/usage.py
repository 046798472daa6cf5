"""Memory, threads, descriptors and processor time of processes, read from /proc."""

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

_WALK_EVERY = 10
"""Samples for each that reads smaps_rollup, because that walks the page tables."""
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
    written: int = 0
    """KiB that were written to disk."""
    private: int = 0
    """Anonymous memory by smaps_rollup, KiB; as of an earlier sample where this one did not read it."""


def measure(pids: list[int], *, private: int | None = None) -> Usage:
    """Measure the usage of the processes that still run; `private` saves the walk of their page tables."""
    anonymous = resident = threads = descriptors = written = walked = 0
    processor = 0.0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            values = dict(line.split(":", 1) for line in lines)
            if "RssAnon" not in values:
                continue
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            descriptors += len(os.listdir(f"/proc/{pid}/fd"))
            written += _field(Path(f"/proc/{pid}/io"), "write_bytes:") // 1024
            if private is None:
                walked += _field(Path(f"/proc/{pid}/smaps_rollup"), "Anonymous:")
        except (FileNotFoundError, ProcessLookupError):
            continue
        anonymous += int(values["RssAnon"].split()[0])
        resident += int(values["VmRSS"].split()[0])
        threads += int(values["Threads"])
        processor += (int(fields[11]) + int(fields[12])) / _TICKS
    walked = walked if private is None else private
    return Usage(time.monotonic(), anonymous, resident, threads, descriptors, processor, written, walked)


def _field(file: Path, name: str) -> int:
    """Return the number after a name in a file of /proc; 0 without it."""
    lines = (line.split() for line in file.read_text().splitlines())
    return next((int(words[1]) for words in lines if words[:1] == [name]), 0)


class Sampler:
    """Samples the usage of processes in a thread until it is stopped."""

    def __init__(self, pids: list[int], interval: float = 0.1) -> None:
        self._pids = pids
        self._interval = interval
        self._stop = threading.Event()
        self._turn = 0
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
        samples = [sample for sample in self.samples if begin <= sample.at <= end]
        return samples or [sample for sample in self.samples if sample.at <= end][-1:] or self.samples[:1]

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            self._turn += 1
            private = None if self._turn % _WALK_EVERY == 0 else self.samples[-1].private
            self.samples.append(measure(self._pids, private=private))
