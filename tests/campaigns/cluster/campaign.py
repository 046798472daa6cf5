"""Runs a cluster under load and faults, and checks everything that it showed."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cluster.checker import CheckReport, check
from cluster.injector import FaultInjector
from cluster.observed_cluster import ObservedCluster
from cluster.plan import FaultKind, PlannedFault, make_plan
from cluster.recording import Recording, ShownStep, write
from cluster.takeovers import TimeSummary, summarize, takeovers
from cluster.topology import FaultTopology
from foreseal.cluster.launched_process import wait_until
from foreseal.preconfirmation import step_signer
from transfer_accounts import CHAIN_ID

RATE = 200
# Maximum seconds until every process shows a new step after a fault healed, and until the cluster is ready at first.
RECOVERY_TIMEOUT, START_TIMEOUT = 60.0, 90.0
_SHOWN_EVERY = 30.0


@dataclass
class FaultSummary:
    """Counts and results of a campaign."""

    seed: int
    etcd: str
    faults: int = 0
    seconds: float = 0.0
    accepted: int = 0
    included: int = 0
    rejected: int = 0
    shown: int = 0
    distinct: int = 0
    transactions: int = 0
    appends: int = 0
    owners: int = 0
    violations: dict[str, int] = field(default_factory=dict)
    by_kind: dict[str, int] = field(default_factory=dict)
    """Faults by kind and roles."""
    takeovers_ms: dict[str, dict[str, TimeSummary]] = field(default_factory=dict)

    def __str__(self) -> str:
        violations = ", ".join(f"{kind} {count}" for kind, count in self.violations.items())
        times = "; ".join(
            f"{kind}: "
            + ", ".join(f"{name} p50 {each.p50} p99 {each.p99} max {each.max}" for name, each in group.items())
            for kind, group in self.takeovers_ms.items()
        )
        return (
            f"{self.faults} faults (seed {self.seed}) in {self.seconds:.0f} s on etcd {self.etcd}: "
            f"{self.shown} steps shown, {self.distinct} distinct, {self.appends} appends of {self.owners} owners, "
            f"{self.accepted} submissions accepted, {self.rejected} rejected, {self.transactions} transactions in "
            f"steps; {violations}; takeovers in ms: {times or 'none'}"
        )


class FaultCampaign:
    """One cluster in one folder."""

    def __init__(self, folder: Path, etcd: str, program: Sequence[str], seed: int, options: Sequence[str] = ()) -> None:
        """`program` is the command `foreseal`, `options` those of every node process."""
        self.recording = Recording()
        self.report = CheckReport()
        self._folder = folder
        self._seed = seed
        self._topology = FaultTopology(folder, etcd, program, options)
        self._summary = FaultSummary(seed, self._topology.etcd.version_text)

    def run(self, faults: int, kinds: Sequence[FaultKind] = tuple(FaultKind)) -> FaultSummary:
        """Apply this many random faults, check the recording, and return the summary."""
        return self.run_plan(lambda: make_plan(self._seed, faults, self._possible(kinds)))

    def run_plan(self, plan: Callable[[], list[PlannedFault]]) -> FaultSummary:
        """Apply the faults of a plan, made once the cluster runs; check the recording, and return the summary."""
        topology = self._topology
        observed: ObservedCluster | None = None
        begun = time.monotonic()
        try:
            topology.start()
            leader = topology.sequencers[0]
            wait_until(lambda: leader.cluster_status().get("role") == "leader", [leader], START_TIMEOUT)
            observed = ObservedCluster(topology.nodes, topology.etcd.endpoints, b"/campaign/", self.recording)
            observed.wait_for_progress(START_TIMEOUT, "the start")
            observed.start_load([node.port for node in topology.nodes], RATE, self._seed)
            self._inject(observed, plan())
            observed.settle(RECOVERY_TIMEOUT)
        finally:
            if observed is not None:
                observed.stop()
            topology.stop()
            write(self.recording, self._folder / "recording.jsonl")
        self._summary.seconds = time.monotonic() - begun
        return self._summarize(observed)

    def _possible(self, kinds: Sequence[FaultKind]) -> list[FaultKind]:
        """Return the kinds that this machine can apply."""
        missing = set()
        if not self._topology.disk.is_mounted:
            missing.add(FaultKind.FULL_DISK)
        if self._topology.clock_shim is None:
            missing.add(FaultKind.CLOCK)
        if missing:
            print(f"not possible on this machine: {', '.join(sorted(missing))}", flush=True)
        return [kind for kind in kinds if kind not in missing]

    def _inject(self, observed: ObservedCluster, plan: list[PlannedFault]) -> None:
        injector, shown = FaultInjector(self._topology, observed), time.monotonic()
        for number, fault in enumerate(plan, 1):
            time.sleep(fault.calm)
            applied = injector.apply(fault)
            self.recording.faults.append(applied)
            self._summary.faults += 1
            observed.wait_for_progress(RECOVERY_TIMEOUT, f"fault {number}, {applied},")
            if time.monotonic() - shown > _SHOWN_EVERY:
                shown = time.monotonic()
                print(f"{number} of {len(plan)} faults, {len(self.recording.heads)} appends, last {fault}", flush=True)

    def _summarize(self, observed: ObservedCluster) -> FaultSummary:
        summary = self._summary
        # The double of a node signs nothing.
        signer_of = None if observed.signer is None else signer_of_step
        report = self.report = check(self.recording, observed.signer, signer_of)
        summary.shown, summary.distinct, summary.transactions = report.shown, report.distinct, report.transactions
        summary.appends, summary.owners, summary.violations = report.appends, report.owners, report.counts
        summary.by_kind = dict(Counter(each.kind for each in self.recording.faults))
        summary.takeovers_ms = summarize(takeovers(self.recording))
        if (load := observed.load) is not None:
            summary.accepted, summary.rejected, summary.included = load.accepted, load.rejected, load.included
        return summary


def signer_of_step(step: ShownStep) -> str:
    """Return the address that signed a step. Raises ValueError."""
    message = {
        "number": hex(step.number),
        "index": hex(step.index),
        "hash": step.hash,
        "parent": step.previous,
        "time": hex(step.time),
        "signature": step.signature,
    }
    return step_signer(message, CHAIN_ID)
