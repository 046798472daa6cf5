"""Model of a node on many cores, from processor times that were measured on few.

Reads: a worker answers a read itself, so the only shared parts are the kernel and the caches. Their share is the
growth of the processor time of a read when a second core works: the serial share of Amdahl's law, an upper bound, as
the second core may run a generator. Steps and sends: the sequencer's busiest thread is serial, and each worker adds to
the sequencer's time, as it gets every transaction and step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PREDICTED = (1, 2, 4, 8, 12)
TARGET_PER_CORE = 0.8
MAX_WORKERS = 256


@dataclass(frozen=True, slots=True)
class SendCost:
    """Seconds of processor time of one transaction: its submission, its share of a step, and its way to all workers."""

    sequencer: float
    """Time of all threads of the sequencer without any worker."""
    sequencer_per_worker: float
    serial: float
    """Time of the busiest thread of the sequencer without any worker."""
    serial_per_worker: float
    worker: float
    """Time of one worker that receives the transaction from the feed."""


def fit_line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return intercept and slope of the least-squares line; with one point, a constant."""
    count = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0
    return mean_y - slope * mean_x, slope


def serial_share(one_core: float, two_cores: float) -> float:
    """Return the serial share of a read from its processor time on one busy core and on two: at least 0."""
    return max(0.0, two_cores / one_core - 1.0)


def speedup(workers: int, share: float) -> float:
    """Return Amdahl's speedup over one worker."""
    return workers / (1.0 + share * (workers - 1))


def reads_per_second(workers: int, read: float, share: float, followed: float) -> float:
    """Return reads a second of workers with a core each; `followed` is the share of a core that the feed takes."""
    return speedup(workers, share) * max(0.0, 1.0 - followed) / read


def send_cost(points: Sequence[Mapping[str, float]]) -> SendCost:
    """Fit the costs of a transaction: points with `workers`, `sequencer`, `serial` and `worker`, in seconds."""
    sequencer, per_worker = fit_line([(point["workers"], point["sequencer"]) for point in points])
    serial, serial_per_worker = fit_line([(point["workers"], point["serial"]) for point in points])
    worker = sum(point["worker"] for point in points) / len(points)
    return SendCost(sequencer, max(0.0, per_worker), serial, max(0.0, serial_per_worker), worker)


def max_sends(workers: int, cost: SendCost) -> float:
    """Return the highest rate of transactions: the busiest thread of the sequencer fills a core, or a worker does."""
    return min(1.0 / (cost.serial + cost.serial_per_worker * workers), 1.0 / cost.worker)


def max_workers(rate: float, cost: SendCost, cores: float = 1.0) -> int:
    """Return the highest number of workers that a sequencer with this many cores can feed at a rate of transactions."""
    left = cores / rate - cost.sequencer
    if left <= 0:
        return 0
    return MAX_WORKERS if cost.sequencer_per_worker * MAX_WORKERS <= left else int(left / cost.sequencer_per_worker)


def predict(reads: Mapping[str, tuple[float, float]], cost: SendCost, rate: float) -> list[dict[str, Any]]:
    """Return predictions by number of workers, while `rate` transactions a second arrive.

    `reads` has processor time in seconds and serial share by call.
    """
    found = []
    for workers in PREDICTED:
        row: dict[str, Any] = {"workers": workers, "max_sends": round(max_sends(workers, cost))}
        for name, (read, share) in reads.items():
            row[name] = round(reads_per_second(workers, read, share, rate * cost.worker))
            row[f"{name} per added core"] = (
                round((speedup(workers, share) - 1) / (workers - 1), 3) if workers > 1 else 1
            )
        found.append(row)
    return found
