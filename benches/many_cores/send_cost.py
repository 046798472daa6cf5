"""Processor time of one transaction over the number of workers.

Each worker gets every transaction and every step from the feed, so each adds to the sequencer's time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

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
    """Mean time of one worker: it follows the sequencer and passes on the submissions that it receives."""

    def figures(self) -> dict[str, float]:
        """Return the times in microseconds."""
        return {name: round(seconds * 1e6, 2) for name, seconds in asdict(self).items()}


def fit_line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return intercept and slope of the least-squares line; with one point, a constant."""
    count = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0
    return mean_y - slope * mean_x, slope


def send_cost(points: Sequence[Mapping[str, float]]) -> SendCost:
    """Fit the costs of a transaction: points with `workers`, `sequencer`, `serial` and `worker`, in seconds."""
    sequencer, per_worker = fit_line([(point["workers"], point["sequencer"]) for point in points])
    serial, serial_per_worker = fit_line([(point["workers"], point["serial"]) for point in points])
    worker = sum(point["worker"] for point in points) / len(points)
    return SendCost(sequencer, max(0.0, per_worker), serial, max(0.0, serial_per_worker), worker)


def max_workers(rate: float, cost: SendCost, cores: float = 1.0) -> int:
    """Return the highest number of workers that a sequencer with this many cores can feed at a rate of transactions."""
    left = cores / rate - cost.sequencer
    if left <= 0:
        return 0
    return MAX_WORKERS if cost.sequencer_per_worker * MAX_WORKERS <= left else int(left / cost.sequencer_per_worker)


def per_added_core(workers: int, rate: float, rate_of_one: float) -> float:
    """Return the part of one worker's rate that each further worker, on a core of its own, adds."""
    return (rate / rate_of_one - 1) / (workers - 1)
