"""Lag of replicas and of readers of frames behind the leader."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benches.load.lanes import quantiles

BOUNDS_MS = (1, 2, 5, 10, 20, 50, 100, 250, 500, 1000)


def lags(leader: Mapping[str, float], other: Mapping[str, float], first: float) -> list[float]:
    """Return seconds between leader and another process for each transaction that the leader showed since `first`.

    Raises ValueError if the other process lacks one. A negative lag means that it was read there first.
    """
    wanted = [name for name, at in leader.items() if at >= first]
    missing = [name for name in wanted if name not in other]
    if missing:
        raise ValueError(f"{len(missing)} of {len(wanted)} transactions were not shown, such as {missing[0]}")
    return [other[name] - leader[name] for name in wanted]


def lag_histogram(durations: Sequence[float]) -> dict[str, int]:
    """Return the number of lags up to each bound in ms, and of those above the last one."""
    counts: dict[str, int] = {}
    rest = sorted(durations)
    for bound in BOUNDS_MS:
        below = [lag for lag in rest if lag * 1000 <= bound]
        counts[f"<= {bound} ms"] = len(below)
        rest = rest[len(below) :]
    return counts | {f"> {BOUNDS_MS[-1]} ms": len(rest)}


def lag_figures(durations: Iterable[Sequence[float]]) -> dict[str, Any]:
    """Return quantiles and histogram over all processes, and the worst p99 of a single one."""
    by_process = list(durations)
    every = [lag for each in by_process for lag in each]
    if not every:
        return {"processes": 0}
    return {
        "processes": len(by_process),
        "samples": len(every),
        **quantiles(every),
        "worst_process_p99_ms": max(quantiles(each)["p99_ms"] for each in by_process),
        "histogram": lag_histogram(every),
    }


def same_order(leader: Sequence[str], other: Sequence[str]) -> bool:
    """Return True if two processes showed the same transactions in the same order, from the first common one on."""
    shown = set(other)
    common = next((name for name in leader if name in shown), None)
    if common is None:
        return not leader and not other
    ours, theirs = list(leader), list(other)
    ours, theirs = ours[ours.index(common) :], theirs[theirs.index(common) :]
    return ours == theirs
