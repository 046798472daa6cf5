"""One pattern against one node: measurements of honest clients before, during and after it, and the verdict."""

import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from hostile.build import child_environment, helper
from hostile.deployment.results import DEFAULT_LIMITS, DeploymentResult, Limits
from hostile.observer import NOT_SENT
from hostile.usage import measure
from hostile.watch import Watch, Window

_BUDGET = 256 * 1024
"""KiB of the memory budget that an attack may fill: half of the default of `--memory`."""
_GRACE = 20.0
SETTLE_TIME = 60.0
STARVATION = "call-keccak"
"""The pattern of finding S1."""
_RAMP = 50
"""Number of addresses that doubles the duration of the attack, because connecting takes time."""


@dataclass(frozen=True)
class Bounds:
    """Limits beyond which a pattern fails."""

    delay: float = 50.0
    """Milliseconds by which the honest p99 may rise."""
    memory: int = 200 * 1024
    """KiB by which anonymous memory may rise."""
    left_memory: int = 96 * 1024
    """Maximum KiB of anonymous memory left behind once honest clients are served normally."""
    gap: float = 500.0
    """Milliseconds without a step or a heartbeat, or between the times of two steps."""
    lateness: bool = True
    """True if unsent honest calls, delayed by earlier ones in flight, fail the pattern."""
    deployment: Limits = DEFAULT_LIMITS
    """Limits of the processes that follow the node."""

    def with_chain_data(self) -> "Bounds":
        """Return the bounds of a pattern that fills caches, blocks and queues with data of the chain."""
        memory, left_memory = self.memory + _BUDGET, self.left_memory + _BUDGET
        return replace(self, memory=memory, left_memory=left_memory)


DEFAULT_BOUNDS = Bounds()
GATE_BOUNDS = Bounds(delay=20_000.0, memory=128 * 1024, gap=30_000.0, lateness=False, deployment=Limits(60.0, 60.0))
"""Bounds for a busy machine: only correctness and memory are bounded."""


@dataclass
class Trial:
    """Result of one pattern."""

    pattern: str
    transport: str
    addresses: int
    before: Window
    during: Window
    after: Window
    recovery: float | None
    """Seconds until honest clients were served normally; None if that took over a minute."""
    seen: dict[str, int]
    """Responses and closed connections that the hostile clients counted, by kind."""
    hostile_processor: float
    """Seconds of processor time of the hostile clients, which share the machine's cores."""
    failures: list[str] = field(default_factory=list)
    deployment: DeploymentResult | None = None
    """Figures of the processes that follow the node; None without any."""


def attack(folder: Path, pattern: str, addresses: int, seconds: float) -> "subprocess.Popen[str]":
    """Start hostile clients; return once they begin."""
    process = subprocess.Popen(
        helper("attacker", folder / "facts.json", "--pattern", pattern, "--addresses", addresses, "--seconds", seconds),
        stdout=subprocess.PIPE,
        text=True,
        env=child_environment(),
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def run_trial(
    watch: Watch,
    folder: Path,
    pattern: str,
    transport: str,
    addresses: int,
    *,
    seconds: float,
    calm: float,
    bounds: Bounds = DEFAULT_BOUNDS,
    on_ended: Callable[[], None] = lambda: None,
) -> Trial:
    """Observe the node for `calm` seconds, attack it for `seconds`, and wait until it has recovered.

    `on_ended` is called at the end of the attack, before that wait.
    """
    seconds *= 1 + addresses / _RAMP
    begin = time.monotonic()
    time.sleep(calm)
    process = attack(folder, pattern, addresses, seconds)
    attacked = time.monotonic()
    try:
        printed, _ = process.communicate(timeout=seconds + _GRACE)
        hostile: dict[str, Any] = orjson.loads(printed.splitlines()[-1])
    except (subprocess.TimeoutExpired, IndexError):
        # On a busy machine a process at nice 19 may not finish.
        hostile = {"processor": measure([process.pid]).processor, "seen": {"ended: killed": 1}}
        process.kill()
        process.communicate()
    ended = time.monotonic()
    on_ended()
    before = watch.window(begin, attacked)
    recovery = watch.settle(ended, worst_p99(before) + bounds.delay, SETTLE_TIME)
    rested = time.monotonic()
    time.sleep(min(calm, 1.0))
    during = watch.window(attacked, ended)
    after = watch.window(max(rested - 1.0, ended), time.monotonic())
    trial = Trial(pattern, transport, addresses, before, during, after, recovery, hostile["seen"], hostile["processor"])
    trial.failures = failures_of(trial, bounds)
    return trial


def worst_p99(window: Window) -> float:
    """Return the highest p99 of submissions and cheap reads, ms."""
    return max(delays.p99 for kind in (window.submissions, window.reads) for delays in kind.values())


def failures_of(trial: Trial, bounds: Bounds) -> list[str]:
    """Return the failed checks of a trial."""
    failures = []
    for kind in ("submissions", "reads"):
        for caller, delays in getattr(trial.during, kind).items():
            rise = delays.p99 - getattr(trial.before, kind)[caller].p99
            if rise > bounds.delay:
                failures.append(f"{kind} of the {caller} caller: p99 rose by {rise:.0f} ms")
    faults = [each for each in trial.during.faults + trial.after.faults if bounds.lateness or NOT_SENT not in each]
    failures += [f"honest call failed: {fault}" for fault in faults]
    rise = trial.during.memory_peak - trial.before.memory_end
    if rise > bounds.memory:
        failures.append(f"anonymous memory rose by {rise // 1024} MiB")
    left = trial.after.memory_end - trial.before.memory_end
    if left > bounds.left_memory:
        failures.append(f"{left // 1024} MiB of anonymous memory were left behind")
    if trial.during.cadence.max > bounds.gap:
        failures.append(f"no step for {trial.during.cadence.max:.0f} ms")
    if trial.recovery is None:
        failures.append(f"honest clients were not served as before within {SETTLE_TIME:.0f} s")
    return failures


HEADS: Sequence[str] = (
    "pattern", "transport", "addr", "submit p99", "read p99", "keyed sub", "keyed read", "max", "incl p99", "mem +MiB",
    "disk MiB", "step p99", "gap ms", "recov s", "verdict",
)  # fmt: skip
_ROW = "{:<26} {:<9} {:>4} {:>13} {:>13} {:>13} {:>13} {:>7} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7}  {}"


def heading() -> str:
    """Return the heading of the table."""
    return _ROW.format(*HEADS)


def row(trial: Trial) -> str:
    """Return a line of the table: p99 before and during, ms."""

    def pair(kind: str, caller: str) -> str:
        before, during = (getattr(window, kind)[caller].p99 for window in (trial.before, trial.during))
        return f"{before:.0f}>{during:.0f}"

    worst = max(delays.max for kind in (trial.during.submissions, trial.during.reads) for delays in kind.values())
    grown = (trial.during.memory_peak - trial.before.memory_end) // 1024
    verdict = "ok" if not trial.failures else f"FAIL {trial.failures[0]}"
    return _ROW.format(
        trial.pattern, trial.transport, trial.addresses, pair("submissions", "public"), pair("reads", "public"),
        pair("submissions", "keyed"), pair("reads", "keyed"), f"{worst:.0f}",
        f"{max(each.p99 for each in trial.during.inclusion.values()):.0f}", grown, trial.during.written // 1024,
        f"{trial.during.cadence.p99:.0f}", f"{trial.during.cadence.max:.0f}",
        "never" if trial.recovery is None else f"{trial.recovery:.1f}", verdict,
    )  # fmt: skip
