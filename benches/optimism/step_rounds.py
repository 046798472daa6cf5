"""Duration of steps of an OP chain and of a plain chain under one driver and one build, in interleaved rounds."""

import re
import statistics
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benches.cluster.histogram import Histogram, read_histogram
from benches.optimism.chains import DrivenChain, start_optimism, start_plain

from live import wait_for

# Longer than a step of the largest size takes on a slow machine.
_STEP = ("--step", "1s")
# Time limit of a step.
_SECONDS = 120.0
# Transactions in one JSON-RPC batch.
_BATCH = 200
PARTS = ("select", "execute", "roots", "sync", "publish", "pool")
"""Phases of a step in the metric `foreseal_step_part_seconds`."""


@dataclass(frozen=True, slots=True)
class StepMetrics:
    """Metrics of steps since the start of a node."""

    steps: Histogram
    parts: dict[str, float]
    """Seconds by phase."""


@dataclass
class StepTimes:
    """Durations of the steps of one chain and size, in ms, one for each round."""

    total: list[float] = field(default_factory=list)
    parts: dict[str, list[float]] = field(default_factory=dict)
    """Durations by phase."""
    steps: list[int] = field(default_factory=list)
    """Steps that a round's transactions needed."""

    def figures(self) -> dict[str, Any]:
        """Return medians in ms."""
        return {
            "rounds": len(self.total),
            "steps": statistics.median(self.steps),
            "step_ms": round(statistics.median(self.total), 2),
            "parts_ms": {name: round(statistics.median(each), 2) for name, each in self.parts.items()},
        }


def measure_steps(folder: Path, sizes: list[int], rounds: int) -> list[dict[str, Any]]:
    """Return the figures of both chains for each size (number of transactions), and the ratio of their medians."""
    sides = [start_optimism(folder, "optimism", *_STEP), start_plain(folder, "plain", *_STEP)]
    step_times = {(side.name, size): StepTimes() for side in sides for size in sizes}
    for number in range(rounds + 1):
        for size in sizes:
            # The order alternates. Round 0 is the warm-up.
            for side in sides[:: -1 if number % 2 else 1]:
                times = step_times[side.name, size] if number else StepTimes()
                _add_round(side, size, times)
    for side in sides:
        side.stop()
    return [step_figures(size, step_times["optimism", size], step_times["plain", size]) for size in sizes]


def step_figures(size: int, optimism: StepTimes, plain: StepTimes) -> dict[str, Any]:
    """Return the medians of both chains and their ratio."""
    sides = {"optimism": optimism.figures(), "plain": plain.figures()}
    ratio = round(sides["optimism"]["step_ms"] / sides["plain"]["step_ms"], 3)
    return {"transactions": size, **sides, "ratio": ratio}


def _add_round(side: DrivenChain, size: int, times: StepTimes) -> None:
    """Fill the pool while no block is open, begin one, and add the duration of the step that empties the pool."""
    raw = side.transfers(size)
    for begin in range(0, size, _BATCH):
        side.node.rpc.batch(*(("eth_sendRawTransaction", each) for each in raw[begin : begin + _BATCH]))
    before = _read(side)
    side.driver.begin()
    wait_for(lambda: not _pooled(side), _SECONDS, f"step with {size} transactions")
    side.driver.seal()
    after = _read(side)
    steps = after.steps.since(before.steps)
    times.total.append(steps.total * 1000)
    times.steps.append(steps.count)
    for name in PARTS:
        times.parts.setdefault(name, []).append((after.parts[name] - before.parts[name]) * 1000)


def _pooled(side: DrivenChain) -> int:
    pool = side.node.rpc("foreseal_status")["pool"]
    return int(pool["pooled"]) + int(pool["queued"])


def _read(side: DrivenChain) -> StepMetrics:
    with urllib.request.urlopen(f"{side.node.url}/metrics") as answer:
        text = answer.read().decode()
    return read_step_metrics(text)


def read_step_metrics(text: str) -> StepMetrics:
    """Return the metrics of steps in a metrics page."""
    steps = read_histogram(text, "foreseal_step_seconds")
    assert steps is not None, "the page has no metrics of steps"
    sums = dict(re.findall(r'^foreseal_step_part_seconds_sum\{part="(\w+)"\} (\S+)$', text, re.MULTILINE))
    return StepMetrics(steps, {name: float(sums[name]) for name in PARTS})
