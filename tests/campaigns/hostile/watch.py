"""Measurements of honest clients and resources of the node, by time window."""

import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from hostile.build import child_environment, helper
from hostile.cadence import Cadence, cadence_of
from hostile.facts import Facts
from hostile.observer import INCLUSION, NOT_SENT
from hostile.usage import Sampler, Usage

CALLERS = ("public", "keyed")
SUBMISSION = "eth_sendRawTransaction"
HEAVY = ("eth_call",)
"""Methods whose delays are reported but not bounded: they share a queue with hostile calls."""
_END_TIME = 30.0
_ENOUGH = 40
"""Minimum number of calls per second for a verdict."""


@dataclass
class Delays:
    """Delays of one method for one caller, ms."""

    calls: int
    p50: float
    p99: float
    max: float
    faults: int = 0

    @classmethod
    def from_delays(cls, delays: list[float], faults: int) -> "Delays":
        """Summarise delays; zeros if there were no calls."""
        ordered = [round(delay, 1) for delay in sorted(delays)] or [0.0]
        p50, p99 = (ordered[min(int(len(ordered) * part), len(ordered) - 1)] for part in (0.5, 0.99))
        return cls(len(delays), p50, p99, ordered[-1], faults)


@dataclass
class Window:
    """Measurements of one time window."""

    seconds: float
    submissions: dict[str, Delays]
    """Delays by caller."""
    reads: dict[str, Delays]
    """Delays of all cheap reads, by caller."""
    inclusion: dict[str, Delays]
    """Times from submissions with a fair tip to their receipts, by caller."""
    methods: dict[str, dict[str, Delays]]
    """Delays by caller and method."""
    cadence: Cadence
    memory_peak: int
    """RssAnon, KiB."""
    memory_end: int
    resident_peak: int
    threads: int
    descriptors: int
    processor: float
    """Seconds of processor time of the node."""
    written: int = 0
    """KiB that the node caused to be written to disk."""
    private_peak: int = 0
    """Anonymous memory in KiB by smaps_rollup."""
    faults: list[str] = field(default_factory=list)


class Recorder:
    """Reports of honest clients, and their summaries."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        """Completed calls, in the order of completion."""
        self.events: list[dict[str, Any]] = []
        """Notifications of subscriptions."""

    def add(self, line: str) -> None:
        """Add a line of an observer's output."""
        record = orjson.loads(line)
        if "event" in record:
            self.events.append(record)
        else:
            self.records.append(record)

    def window(self, begin: float, end: float, usage: list[Usage]) -> Window:
        """Summarise the calls that were due within a time window."""
        records = [record for record in list(self.records) if begin <= record["at"] < end]
        return Window(
            seconds=round(end - begin, 2),
            submissions=_by_caller(records, lambda method: method == SUBMISSION),
            reads=_by_caller(records, lambda method: is_cheap(method) and method != SUBMISSION),
            methods={caller: _by_method(records, caller) for caller in CALLERS},
            inclusion=_by_caller(records, lambda method: method == INCLUSION),
            cadence=cadence_of(list(self.events), begin, end),
            memory_peak=max(sample.anonymous for sample in usage),
            memory_end=usage[-1].anonymous,
            resident_peak=max(sample.resident for sample in usage),
            threads=max(sample.threads for sample in usage),
            descriptors=max(sample.descriptors for sample in usage),
            processor=round(usage[-1].processor - usage[0].processor, 2),
            written=usage[-1].written - usage[0].written,
            private_peak=max(sample.private for sample in usage),
            faults=_faults(records),
        )

    def recovered_at(self, begin: float, bound: float) -> float | None:
        """Return the seconds from `begin` until cheap calls take at most `bound` ms for a second, none in flight.

        Return None while that is not the case.
        """
        if not self.records:
            return None
        cheap = [(r["at"], r["ms"]) for r in list(self.records) if r["at"] >= begin and is_cheap(r["method"])]
        since = max((at for at, delay in cheap if delay > bound), default=begin)
        is_calm = self.records[-1]["oldest"] >= since + 1.0
        is_calm = is_calm and sum(1 for at, _ in cheap if at > since) >= _ENOUGH
        return round(since - begin, 2) if is_calm else None


class Watch:
    """Runs the honest clients of a node in their own processes and records their reports."""

    def __init__(self, facts: Facts, folder: Path, pids: list[int]) -> None:
        file = folder / "facts.json"
        facts.save(file)
        self._recorder = Recorder()
        self._sampler = Sampler(pids)
        self._processes = [self._start(module, file) for module in ("observer", "listener")]
        self._readers = [threading.Thread(target=self._read, args=(each,), daemon=True) for each in self._processes]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _start(module: str, file: Path) -> "subprocess.Popen[str]":
        command = helper(module, file)
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=child_environment()
        )

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop the honest clients."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.close()
        for process, reader in zip(self._processes, self._readers, strict=True):
            try:
                process.wait(_END_TIME)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            reader.join(_END_TIME)
        self._sampler.stop()

    def window(self, begin: float, end: float) -> Window:
        """Summarise the calls that were due within a time window, and the node's resource usage meanwhile."""
        return self._recorder.window(begin, end, self._sampler.within(begin, end))

    def settle(self, begin: float, bound: float, timeout: float) -> float | None:
        """Wait until honest clients are served normally; return seconds from `begin`, or None after `timeout`."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            time.sleep(0.2)
            recovery = self._recorder.recovered_at(begin, bound)
            if recovery is not None:
                return recovery
        return None

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                self._recorder.add(line)


def is_cheap(method: str) -> bool:
    """Return `True` for submissions and reads whose delays are bounded."""
    return method not in HEAVY and method not in (INCLUSION, "subscription")


def _by_caller(records: list[dict[str, Any]], chosen: Any) -> dict[str, Delays]:
    delays = {}
    for caller in CALLERS:
        own = [record for record in records if record["caller"] == caller and chosen(record["method"])]
        delays[caller] = Delays.from_delays(
            [record["ms"] for record in own], sum(1 for record in own if record["fault"])
        )
    return delays


def _by_method(records: list[dict[str, Any]], caller: str) -> dict[str, Delays]:
    by_method: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        if record["caller"] == caller:
            by_method.setdefault(record["method"], []).append(record)
    return {
        method: Delays.from_delays([record["ms"] for record in own], sum(1 for record in own if record["fault"]))
        for method, own in sorted(by_method.items())
    }


def _faults(records: list[dict[str, Any]]) -> list[str]:
    """Return the distinct faults with their counts."""
    counts: dict[str, int] = {}
    for record in records:
        late = record["method"] in HEAVY and record["fault"] == NOT_SENT
        if record["fault"] and not late:
            name = f"{record['caller']} {record['method']}: {record['fault']}"
            counts[name] = counts.get(name, 0) + 1
    return [f"{name} ({count} times)" for name, count in counts.items()][:20]
