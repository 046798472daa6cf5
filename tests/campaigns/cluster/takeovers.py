"""Times of takeovers, from the fault to the new owner in the engine and to its first shown steps."""

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass

from campaign_cli import quantile
from cluster.recording import AppliedFault, EngineHead, Recording, StepPosition


@dataclass(frozen=True, slots=True)
class TakeoverTime:
    """One takeover after a fault, in ms."""

    fault: str
    fence: int
    """Until the engine has the new owner."""
    first_step: int | None
    """Until a reader is shown a step of the new owner; None if the next fault came first."""
    everywhere: int | None
    """Until each process that is no target of the fault shows such a step; None if the next fault came first."""


@dataclass(frozen=True, slots=True)
class TimeSummary:
    """Distribution of times in ms."""

    count: int
    p50: int
    p99: int
    max: int


def takeovers(recording: Recording) -> list[TakeoverTime]:
    """Return the first takeover after each fault that had one before the next fault."""
    faults = sorted(recording.faults, key=lambda each: each.began)
    ends = [fault.began for fault in faults[1:]] + [float("inf")]
    first_shown = _first_shown(recording)
    processes = {step.process for step in recording.steps}
    times = []
    for fault, end in zip(faults, ends, strict=True):
        owner = min(
            (each for each in recording.owners if fault.began < each.at < end and each.epoch > fault.epoch),
            key=lambda each: each.at,
            default=None,
        )
        if owner is not None:
            shown = {process: at for process, at in first_shown[owner.epoch].items() if at < end}
            step = _ms(min(shown.values()), fault) if shown else None
            others = processes.difference(fault.targets)
            everywhere = _ms(max(shown[each] for each in others), fault) if others and others <= shown.keys() else None
            times.append(TakeoverTime(fault.kind, _ms(owner.at, fault), step, everywhere))
    return times


def summarize(times: list[TakeoverTime]) -> dict[str, dict[str, TimeSummary]]:
    """Return the distributions of `fence`, `first_step` and `everywhere` of each kind of fault, and of `all`."""
    groups: defaultdict[str, list[TakeoverTime]] = defaultdict(list)
    for time in times:
        groups[time.fault].append(time)
        groups["all"].append(time)
    return {
        kind: {
            name: _summary(values)
            for name, values in (
                ("fence", [each.fence for each in group]),
                ("first_step", [each.first_step for each in group if each.first_step is not None]),
                ("everywhere", [each.everywhere for each in group if each.everywhere is not None]),
            )
            if values
        }
        for kind, group in sorted(groups.items())
    }


def _first_shown(recording: Recording) -> defaultdict[int, dict[str, float]]:
    """Return the times at which each process first showed a step of each epoch, by the epoch of its append."""
    heads: list[EngineHead] = sorted(recording.heads, key=lambda each: each.position)
    positions: list[StepPosition] = [head.position for head in heads]
    times_by_epoch: defaultdict[int, dict[str, float]] = defaultdict(dict)
    for step in recording.steps:
        at = bisect_left(positions, step.position)
        if at < len(heads):
            shown = times_by_epoch[heads[at].epoch]
            shown[step.process] = min(shown.get(step.process, step.at), step.at)
    return times_by_epoch


def _summary(values: list[int]) -> TimeSummary:
    return TimeSummary(len(values), quantile(values, 0.5), quantile(values, 0.99), max(values))


def _ms(at: float, fault: AppliedFault) -> int:
    return round((at - fault.began) * 1000)
