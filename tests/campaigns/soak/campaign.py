"""One node under the load, with periodic samples of its sizes."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from live import LiveNode
from live.process import foreseal_command
from soak.load import Load, Rates
from soak.samples import Growth, Sample, growth_of, read_sample
from traffic.transfers import deploy_token

# Minimum seconds for a verdict: shorter runs measure the filling of caches, not growth.
JUDGED = 1800.0


@dataclass
class Summary:
    """Figures of a run."""

    transport: str
    seconds: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
    cores: float = 0.0
    """Processor time of the node per second."""
    growth: Growth | None = None
    descriptors: tuple[int, int] = (0, 0)
    """Minimum and maximum after the first quarter."""
    threads: tuple[int, int] = (0, 0)
    samples: list[Sample] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        growth = self.growth
        memory = "no growth was measured"
        if growth is not None:
            memory = (
                f"anonymous memory without the ring of arrivals: {growth.second_quarter_mb} MB in the second quarter, "
                f"{growth.last_quarter_mb} MB in the last one, {growth.mb_in_ten_minutes} MB in ten minutes"
            )
        return (
            f"{self.transport}: {self.seconds:.0f} s at {self.cores:.2f} cores, {self.counts}; {memory}; "
            f"descriptors {self.descriptors}, threads {self.threads}; faults: {len(self.faults)}"
        )


class Campaign:
    """A node from an empty folder."""

    def __init__(self, datadir: Path, transport: str, seed: int, rates: Rates, *options: str) -> None:
        """`options` are options of `foreseal dev` other than the transport."""
        self._command = [
            foreseal_command(),
            "dev",
            "--port",
            "0",
            "--datadir",
            str(datadir),
            "--transport",
            transport,
            *options,
        ]
        self._seed, self._rates = seed, rates
        self.summary = Summary(transport)

    def run(self, seconds: float, interval: float, show: Callable[[object], None] = print) -> Summary:
        """Load the node for this many seconds, with a sample every `interval` seconds."""
        node = LiveNode(self._command)
        try:
            load = Load(node.url, bytes.fromhex(deploy_token(node.rpc)[2:]), self._seed, self._rates)
            try:
                self._sample(node, load, seconds, interval, show)
            finally:
                load.stop()
            self.summary.counts, self.summary.faults = dict(load.counts), load.faults
            code = node.stop()
            if code:
                self.summary.faults.append(f"the node ended with exit code {code}: {node.printed[-500:]}")
        finally:
            if node.process.poll() is None:
                node.kill()
        self._judge()
        return self.summary

    def _sample(
        self, node: LiveNode, load: Load, seconds: float, interval: float, show: Callable[[object], None]
    ) -> None:
        began, due = time.monotonic(), 0.0
        while due <= seconds and not load.faults:
            time.sleep(max(began + due - time.monotonic(), 0.0))
            sample = read_sample(node.process.pid, time.monotonic() - began, load.counts["submissions"])
            self.summary.samples.append(sample)
            show(sample)
            due += interval

    def _judge(self) -> None:
        summary, samples = self.summary, self.summary.samples
        first, last = samples[0], samples[-1]
        summary.seconds = last.second
        if last.second > first.second:
            summary.cores = round((last.cpu - first.cpu) / (last.second - first.second), 2)
        after = samples[len(samples) // 4 :]
        for name in ("descriptors", "threads"):
            values = [getattr(sample, name) for sample in after]
            setattr(summary, name, (min(values), max(values)))
        if len(samples) < 4:
            return
        summary.growth = growth_of(samples)
        if summary.seconds >= JUDGED and not summary.growth.is_flat:
            summary.faults.append(f"anonymous memory grows: {summary.growth}")
