"""Findings that one pattern shows: the honest clients before and during it."""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from hostile.chain import Chain
from hostile.findings.finding import Bench, pids_of
from hostile.trial import DEFAULT_BOUNDS, Trial, run_trial, worst_p99
from hostile.watch import Delays, Watch, Window
from live.process import LiveNode

_CALM = 4.0
_WARM_UP = 2.0
CALL_BOUND = 100.0
"""Milliseconds by which the p99 of `eth_call` may rise."""
INCLUSION_BOUND = 400.0
"""Milliseconds of the p99 from a submission to its receipt."""
MEMORY_BOUND = 500 * 1024
"""KiB of anonymous memory of a node."""
Verdict = Callable[[Trial], tuple[str, bool]]


@dataclass(frozen=True)
class Case:
    """One trial of a finding."""

    finding: str
    name: str
    pattern: str
    verdict: Verdict
    addresses: int = 1
    options: Sequence[str] = field(default_factory=tuple)
    seconds: float | None = None
    base_fee: int | None = None
    """Base fee of the genesis, which an idle chain reaches after minutes."""


def measure_case(bench: Bench, case: Case) -> None:
    """Run a pattern against a new public node and add its row."""
    with bench.chain() as chain:
        if case.base_fee is not None:
            set_base_fee(chain, case.base_fee)
        with bench.running(chain, *case.options, keys=2) as node:
            chain.populate(node.rpc)
            add_row(bench, case, _trial(bench, case, chain, node))


def _trial(bench: Bench, case: Case, chain: Chain, node: LiveNode) -> Trial:
    with Watch(chain.facts, chain.folder, pids_of(node)) as watch:
        time.sleep(_WARM_UP)
        seconds = case.seconds or bench.seconds
        return run_trial(
            watch, chain.folder, case.pattern, "native", case.addresses, seconds=seconds, calm=_CALM
        )  # fmt: skip


def add_row(bench: Bench, case: Case, trial: Trial) -> None:
    """Add the row of a trial. A node that no longer serves honest clients is open in any case."""
    measured, is_open = case.verdict(trial)
    if trial.during.faults:
        measured += f"; {len(trial.during.faults)} kinds of failed honest calls"
    bench.add(case.finding, case.name, measured, is_open=is_open or trial.recovery is None)


def set_base_fee(chain: Chain, base_fee: int) -> None:
    """Change the genesis of a chain that has not started."""
    genesis = json.loads(chain.genesis.read_text())
    genesis["baseFeePerGas"] = hex(base_fee)
    chain.genesis.write_text(json.dumps(genesis))


def delays(trial: Trial) -> tuple[str, bool]:
    """Judge submissions and cheap reads of honest clients."""
    before, during = (worst_p99(window) for window in (trial.before, trial.during))
    return f"honest p99 {before:.0f} -> {during:.0f} ms", during - before > DEFAULT_BOUNDS.delay


def acknowledgments(trial: Trial) -> tuple[str, bool]:
    """Judge submissions of honest clients."""
    before, during = (_worst(window.submissions.values()) for window in (trial.before, trial.during))
    return f"acknowledgment p99 {before:.0f} -> {during:.0f} ms", during - before > DEFAULT_BOUNDS.delay


def calls(trial: Trial) -> tuple[str, bool]:
    """Judge `eth_call` of honest clients."""
    before, during = (_worst(_calls(window)) for window in (trial.before, trial.during))
    return f"honest eth_call p99 {before:.0f} -> {during:.0f} ms", during - before > CALL_BOUND


def steps(trial: Trial) -> tuple[str, bool]:
    """Judge the interval of steps and the time to a receipt."""
    cadence = trial.during.cadence
    inclusion = trial.during.inclusion.values()
    p50, p99 = max(each.p50 for each in inclusion), max(each.p99 for each in inclusion)
    measured = f"longest interval of steps {cadence.max:.0f} ms (p99 {cadence.p99:.0f}), "
    measured += f"inclusion p50 {p50:.0f}, p99 {p99:.0f} ms"
    return measured, cadence.max > DEFAULT_BOUNDS.gap or p99 > INCLUSION_BOUND


def memory(trial: Trial) -> tuple[str, bool]:
    """Judge anonymous memory; show what was written."""
    during = trial.during
    peak = max(during.private_peak, during.memory_peak)
    rate = during.written / 1024 / during.seconds
    measured = f"anonymous memory {trial.before.memory_end // 1024} -> {peak // 1024} MiB "
    measured += f"in {during.seconds:.0f} s, {rate:.0f} MiB/s written"
    return measured, peak > MEMORY_BOUND


def _calls(window: Window) -> list[Delays]:
    return [by_method["eth_call"] for by_method in window.methods.values() if "eth_call" in by_method]


def _worst(distributions: Iterable[Delays]) -> float:
    return max((each.p99 for each in distributions), default=0.0)
