"""A random plan of faults from a seed: a pure function, so that a seed repeats its plan."""

import random
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum


class FaultKind(StrEnum):
    """A fault; its target is a role, which is resolved when the fault is applied."""

    KILL = "kill"
    STOP = "stop"
    """SIGTERM: a leader with a healthy standby hands over."""
    PAUSE_SHORT = "pause_short"
    """SIGSTOP for less than the silence that triggers a takeover."""
    PAUSE_LONG = "pause_long"
    CUT = "cut"
    """Both directions between a process and the engine, or of a feed."""
    CUT_REQUESTS = "cut_requests"
    CUT_ANSWERS = "cut_answers"
    DELAY = "delay"
    CUT_FEED = "cut_feed"
    FULL_DATABASE = "full_database"
    """The engine's quota: NOSPACE."""
    FULL_DISK = "full_disk"
    """The file system of one engine member."""
    CLOCK = "clock"
    """The wall clock of a sequencer jumps by minutes."""


_PROCESSES = ("leader", "standby", "replica", "etcd-leader", "etcd-follower")
_SEQUENCERS = ("leader", "standby")
TARGETS: dict[FaultKind, tuple[tuple[str, ...], ...]] = {
    FaultKind.KILL: (
        *((name,) for name in _PROCESSES),
        ("leader", "etcd-leader"),
        ("leader", "etcd-follower"),
        ("leader", "standby"),
        ("leader", "replica"),
        ("etcd-leader", "etcd-follower"),
    ),
    FaultKind.STOP: tuple((name,) for name in _PROCESSES),
    FaultKind.PAUSE_SHORT: tuple((name,) for name in _PROCESSES),
    FaultKind.PAUSE_LONG: (
        *((name,) for name in _PROCESSES),
        ("leader", "etcd-leader"),
        ("leader", "standby"),
        ("etcd-leader", "etcd-follower"),
    ),
    FaultKind.CUT: (*((name,) for name in (*_SEQUENCERS, "etcd-leader", "etcd-follower")), ("leader", "etcd-leader")),
    FaultKind.CUT_REQUESTS: (("leader",), ("standby",), ("etcd-leader",)),
    FaultKind.CUT_ANSWERS: (("leader",), ("standby",), ("etcd-leader",)),
    FaultKind.DELAY: (("leader",), ("standby",), ("etcd-leader",)),
    FaultKind.CUT_FEED: (("leader",), ("replica",)),
    FaultKind.FULL_DATABASE: (("etcd-leader",),),
    FaultKind.FULL_DISK: (("etcd-small",),),
    FaultKind.CLOCK: (("leader",), ("standby",)),
}
"""Combinations of roles of each kind. `etcd-small` is the member whose disk is small."""

_SHORT, _LONG = (0.2, 0.7), (1.0, 6.0)
_DELAYS_MS = (20, 400)
_JUMPS = (60, 600)
# Seconds without fault before each fault.
_CALM = (0.2, 1.5)


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """One fault of a plan."""

    kind: FaultKind
    roles: tuple[str, ...]
    calm: float
    """Seconds before it, after the cluster recovered from the fault before."""
    seconds: float
    """Seconds until it is healed; a killed process is started again then."""
    reset: bool = False
    """Connections over a cut link end when it heals; otherwise the bytes that waited arrive late."""
    delay_ms: int = 0
    jump: int = 0
    """Seconds that the clock jumps."""

    def __str__(self) -> str:
        return f"{self.kind} {'+'.join(self.roles)} {self.seconds:.1f} s"


def make_plan(seed: int, count: int, kinds: Collection[FaultKind] = tuple(FaultKind)) -> list[PlannedFault]:
    """Return `count` faults. Every combination of kind and roles occurs before any occurs again."""
    rng = random.Random(seed)
    every = [(kind, roles) for kind in FaultKind if kind in kinds for roles in TARGETS[kind]]
    bag: list[tuple[FaultKind, tuple[str, ...]]] = []
    plan = []
    for _ in range(count):
        bag = bag or rng.sample(every, len(every))
        plan.append(_plan_fault(rng, *bag.pop()))
    return plan


def _plan_fault(rng: random.Random, kind: FaultKind, roles: tuple[str, ...]) -> PlannedFault:
    calm = rng.uniform(*_CALM)
    seconds = rng.uniform(*(_SHORT if kind == FaultKind.PAUSE_SHORT or rng.random() < 0.15 else _LONG))
    if kind == FaultKind.PAUSE_LONG:
        seconds = max(seconds, _LONG[0])
    return PlannedFault(
        kind,
        roles,
        calm,
        seconds,
        reset=rng.random() < 0.5,
        delay_ms=rng.randint(*_DELAYS_MS) if kind == FaultKind.DELAY else 0,
        jump=rng.choice((-1, 1)) * rng.randint(*_JUMPS) if kind == FaultKind.CLOCK else 0,
    )
