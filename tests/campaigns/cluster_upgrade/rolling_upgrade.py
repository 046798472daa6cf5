"""Restarts all processes of a cluster under load: replicas, standby, old leader after a handover, etcd members."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from cluster.campaign import signer_of_step
from cluster.checker import check
from cluster.observed_cluster import ObservedCluster
from cluster.recording import Recording
from cluster_upgrade.read_probe import ReadProbe
from cluster_upgrade.submission_probe import SubmissionProbe
from cluster_upgrade.upgrade_phase import PhaseFigures, UpgradePhase, phase_figures
from foreseal.cluster.etcd import EtcdCluster, EtcdMember
from foreseal.cluster.launched_process import wait_until
from foreseal.cluster.local_cluster import ClusterLayout, LocalCluster
from foreseal.cluster.node_process import NodeProcess, SequencerRole
from foreseal.cluster.rpc_endpoint import RpcEndpoint
from foreseal.ports import next_free_port
from live.proxies import describe_haproxy, running_proxy
from transfer_accounts import ACCOUNTS, funded_genesis, transfer_accounts

# Longer than the balancer needs to notice that a node is not ready: two checks of 500 ms, and one that is late.
DRAIN_DELAY = "2s"
# Maximum time for which a submission may be rejected.
MAX_REJECTION_MS = 200
READERS, RATE = 4, 200
_TIMEOUT = 90.0
# Time between two restarts, so that a consequence of one is not counted for the next.
CALM = 2.0


@dataclass
class UpgradeSummary:
    """Counts and times of an upgrade."""

    seed: int
    etcd: str
    seconds: float = 0.0
    restarted: list[str] = field(default_factory=list)
    reads: int = 0
    failed_reads: int = 0
    reopened_connections: int = 0
    """Reads that were sent again, as the balancer had closed the idle connection."""
    slowest_read_ms: int = 0
    submissions: int = 0
    rejected_submissions: int = 0
    longest_rejection_ms: int = 0
    longest_submission_ms: int = 0
    handover_ms: int = 0
    """Longest time between two steps at any process around the handover."""
    missing_transactions: int = 0
    """Accepted transactions of the probe that are in no step."""
    shown: int = 0
    violations: dict[str, int] = field(default_factory=dict)
    phases: list[PhaseFigures] = field(default_factory=list)

    def __str__(self) -> str:
        broken = ", ".join(f"{kind} {count}" for kind, count in self.violations.items())
        return (
            f"{len(self.restarted)} processes restarted in {self.seconds:.0f} s (seed {self.seed}, etcd {self.etcd}): "
            f"{self.reads} reads, {self.failed_reads} failed, slowest {self.slowest_read_ms} ms, "
            f"{self.submissions} submissions, {self.rejected_submissions} rejected at first for at most "
            f"{self.longest_rejection_ms} ms, longest {self.longest_submission_ms} ms, "
            f"{self.missing_transactions} missing, {self.shown} steps shown; handover {self.handover_ms} ms; {broken}"
        )


class RollingUpgrade:
    """One cluster in one folder, with HAProxy in front of all nodes."""

    def __init__(self, folder: Path, etcd: str, haproxy: str, program: Sequence[str], seed: int) -> None:
        """`etcd` and `haproxy` are programs, `program` is the command `foreseal`."""
        self.recording = Recording()
        self.problems: list[str] = []
        layout = ClusterLayout(program, standbys=1, replicas=2, options=("--drain-delay", DRAIN_DELAY))
        members = EtcdCluster(folder, etcd)
        self._cluster = LocalCluster(folder, members, funded_genesis(ACCOUNTS + 1), layout)
        self._port = next_free_port()
        self._haproxy = describe_haproxy(haproxy, folder, self._port, [node.port for node in self._cluster.nodes])
        self._seed = seed
        self._phases: list[UpgradePhase] = []
        self._summary = UpgradeSummary(seed, members.version_text)

    def run(self) -> UpgradeSummary:
        """Restart every process once, check the recording, and return the summary. Raises NodeError."""
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            stack.callback(self._cluster.stop)
            self._cluster.start()
            stack.enter_context(running_proxy(self._haproxy, self._port))
            observed = ObservedCluster(self._cluster.nodes, self._cluster.etcd.endpoints, b"/foreseal/", self.recording)
            stack.callback(observed.stop)
            reads = [ReadProbe(self._port) for _ in range(READERS)]
            # The load sends from all other accounts.
            probe = SubmissionProbe(self._port, transfer_accounts(ACCOUNTS + 1)[-1])
            observed.start_load([self._port] * READERS, RATE, self._seed)
            self._restart_all(observed)
            for reader in reads:
                reader.stop()
            probe.stop()
            observed.wait(
                lambda: all(map(observed.is_included, probe.hashes)), _TIMEOUT, "an accepted transaction is in no step"
            )
            observed.settle(_TIMEOUT)
            self._count(observed, reads, probe)
        self._summary.seconds = time.monotonic() - began
        return self._summary

    def _restart_all(self, observed: ObservedCluster) -> None:
        leader, standby = self._cluster.sequencers
        with self._phase(observed, "no restart"):
            pass
        for replica in self._cluster.replicas:
            with self._phase(observed, replica.name):
                self._restart(replica)
        with self._phase(observed, standby.name):
            self._restart(standby)
        with self._phase(observed, "handover"):
            self._hand_over(observed, leader, standby)
        with self._phase(observed, leader.name):
            assert isinstance(leader.role, SequencerRole)
            leader.set_role(replace(leader.role, standby=True))
            self._restart(leader)
        for member in self._cluster.etcd.members:
            with self._phase(observed, member.name):
                self._restart(member)
        owner = observed.owner
        if owner is None or owner.name != standby.name:
            self.problems.append(f"{standby.name} is not the owner at the end, but {owner.name if owner else 'none'}")

    @contextlib.contextmanager
    def _phase(self, observed: ObservedCluster, name: str) -> Iterator[None]:
        """Run a part of the upgrade, and wait until every process shows new steps."""
        began = time.monotonic()
        yield
        observed.wait_for_progress(_TIMEOUT, name)
        time.sleep(CALM)
        self._phases.append(UpgradePhase(name, began, time.monotonic()))
        print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)

    def _restart(self, process: NodeProcess | EtcdMember) -> None:
        """Stop a process in order, start it again, and wait until it is ready."""
        code = process.stop()
        if code != 0 and isinstance(process, NodeProcess):
            self.problems.append(f"{process.name} ended with exit code {code}: {process.log_tail()[-500:]}")
        process.start()
        is_ready = process.is_ready if isinstance(process, NodeProcess) else process.is_healthy
        wait_until(is_ready, [process], _TIMEOUT)
        self._summary.restarted.append(process.name)

    def _hand_over(self, observed: ObservedCluster, leader: NodeProcess, standby: NodeProcess) -> None:
        assert isinstance(leader.role, SequencerRole)
        admin = RpcEndpoint(f"http://127.0.0.1:{leader.role.admin}", timeout=_TIMEOUT)
        successor = admin.call("foreseal_handover").result["successor"]
        if successor != standby.name:
            self.problems.append(f"the handover went to {successor}")
        observed.wait(
            lambda: standby.cluster_status().get("role") == "leader", _TIMEOUT, f"{standby.name} is not the leader"
        )

    def _count(self, observed: ObservedCluster, reads: list[ReadProbe], probe: SubmissionProbe) -> None:
        summary = self._summary
        report = check(self.recording, observed.signer, signer_of_step)
        summary.shown, summary.violations = report.shown, report.counts
        failures = [failure for each in reads for failure in each.failures]
        summary.reads, summary.failed_reads = sum(each.reads for each in reads), len(failures)
        summary.reopened_connections = sum(each.reopened for each in reads)
        summary.slowest_read_ms = round(max(each.slowest for each in reads) * 1000)
        submissions = probe.submissions
        rejected = [each for each in submissions if each.first_rejection is not None]
        summary.submissions, summary.rejected_submissions = len(submissions), len(rejected)
        summary.longest_rejection_ms = max((round(each.rejected_seconds * 1000) for each in rejected), default=0)
        summary.longest_submission_ms = max((round((e.accepted - e.began) * 1000) for e in submissions), default=0)
        summary.missing_transactions = sum(not observed.is_included(name) for name in probe.hashes)
        summary.phases = phase_figures(self._phases, submissions, [at for at, _ in failures])
        summary.handover_ms = self._longest_gap("handover")
        self.problems += [f"{kind}: {detail}" for kind, detail in report.violations]
        self.problems += [f"read failed: {reason}" for _, reason in failures]
        self.problems += [
            f"a submission was rejected for {round(each.rejected_seconds * 1000)} ms: {each.reason}"
            for each in rejected
            if each.rejected_seconds * 1000 > MAX_REJECTION_MS
        ]

    def _longest_gap(self, name: str) -> int:
        """Return the longest time in ms between two new steps at the successor during a phase."""
        phase = next(each for each in self._phases if each.name == name)
        successor = self._cluster.sequencers[1].name
        times = sorted(
            each.at
            for each in self.recording.steps
            if each.process == successor and phase.began - 1 <= each.at < phase.ended
        )
        return round(max((after - before for before, after in pairwise(times)), default=0) * 1000)
