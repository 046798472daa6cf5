"""Applies the faults of a plan to a running cluster, and heals them."""

import time
from collections.abc import Callable, Sequence

from clock_shim import set_clock
from cluster.observed_cluster import ObservedCluster
from cluster.plan import FaultKind, PlannedFault
from cluster.recording import AppliedFault
from cluster.topology import FaultTopology
from etcd_gateway import EtcdGateway, EtcdGatewayError
from foreseal.cluster.etcd import EtcdMember
from foreseal.cluster.launched_process import LaunchedProcess
from foreseal.cluster.node_process import NodeProcess
from link_proxy import LinkState

_FILLER = b"filler/"
_REPAIR_TIMEOUT = 30.0
_CUTS = {
    FaultKind.CUT: LinkState(forward=False, backward=False),
    FaultKind.CUT_REQUESTS: LinkState(forward=False),
    FaultKind.CUT_ANSWERS: LinkState(backward=False),
    FaultKind.CUT_FEED: LinkState(forward=False, backward=False),
}


class FaultInjector:
    """Applies one fault at a time."""

    def __init__(self, topology: FaultTopology, observed: ObservedCluster) -> None:
        self._topology = topology
        self._observed = observed

    def apply(self, fault: PlannedFault) -> AppliedFault:
        """Apply a fault, wait for its duration, heal it, and return what was done. Runs on the main thread."""
        targets = self.resolve(fault.roles)
        owner = self._observed.owner
        began = time.monotonic()
        heal = self._begin(fault, targets)
        time.sleep(max(0.0, began + fault.seconds - time.monotonic()))
        heal()
        # A full disk or a lost ownership may have ended a process that was no target.
        self._restart_ended((*self._topology.etcd.members, *self._topology.nodes))
        roles = "+".join(fault.roles)
        names = tuple(process.name for process in targets)
        return AppliedFault(f"{fault.kind} {roles}", names, began, time.monotonic(), owner.epoch if owner else 0)

    def resolve(self, roles: tuple[str, ...]) -> list[LaunchedProcess]:
        """Return the process that has each role now."""
        return [self._find(role) for role in roles]

    def _find(self, role: str) -> LaunchedProcess:
        topology, leader = self._topology, self._observed.leader
        members = topology.etcd.members
        leads = next((each for each in members if EtcdGateway(each.endpoint, 0.5).is_leader()), members[0])
        match role:
            case "leader":
                return leader
            case "standby":
                return next(each for each in topology.sequencers if each is not leader)
            case "replica":
                return topology.replicas[0]
            case "etcd-leader":
                return leads
            case "etcd-follower":
                return next(each for each in members if each is not leads)
            case "etcd-small":
                return members[-1]
        raise ValueError(f"unknown role {role}")

    def _begin(self, fault: PlannedFault, targets: list[LaunchedProcess]) -> Callable[[], None]:
        """Begin a fault, and return the function that heals it."""
        links = self._topology.links
        match fault.kind:
            case FaultKind.KILL:
                _each(targets, LaunchedProcess.kill)
            case FaultKind.STOP:
                _each(targets, LaunchedProcess.terminate)
                return lambda: _each(targets, LaunchedProcess.stop)
            case FaultKind.PAUSE_SHORT | FaultKind.PAUSE_LONG:
                _each(targets, LaunchedProcess.pause)
                return lambda: _each(targets, LaunchedProcess.resume)
            case FaultKind.FULL_DATABASE:
                self._fill_database()
                return self._free_database
            case FaultKind.FULL_DISK:
                self._topology.disk.fill()
                return self._topology.disk.free
            case FaultKind.CLOCK:
                _each(targets, lambda process: set_clock(process.log.parent / "clock", fault.jump))
                return lambda: _each(targets, lambda process: set_clock(process.log.parent / "clock", 0))
            case _:
                state = _CUTS.get(fault.kind, LinkState(delay_ms=fault.delay_ms))
                feed = fault.kind == FaultKind.CUT_FEED
                links.set_state([name for each in targets for name in self._links_of(each, feed=feed)], state)
                return lambda: links.heal(reset=fault.reset)
        return lambda: None

    def _links_of(self, process: LaunchedProcess, *, feed: bool) -> list[str]:
        """Return the links of a process: to its feed and from it with `feed`, else those to and between engines."""
        name = process.name
        prefixes = (f"feed/{name}", f"follow/{name}/") if feed else (f"engine/{name}/", f"peer/{name}")
        links = [link for link in self._topology.links.names if link.startswith(prefixes)]
        if isinstance(process, EtcdMember):
            links += [link for link in self._topology.links.names if link.endswith(f"/{name}") and link not in links]
        if feed:
            links += [link for link in self._topology.links.names if link.startswith("follow/") and link.endswith(name)]
        return sorted(set(links))

    def _restart_ended(self, processes: Sequence[LaunchedProcess]) -> None:
        for process in processes:
            if not process.is_running:
                self._restart(process)

    def _restart(self, process: LaunchedProcess) -> None:
        if isinstance(process, NodeProcess):
            self._topology.restart(process)
        else:
            process.start()

    def _fill_database(self) -> None:
        """Write until the engine raises the alarm NOSPACE."""
        gateway = self._gateway()
        for number in range(128):
            try:
                gateway.put(_FILLER + b"%d" % number, bytes(1 << 20))
            except EtcdGatewayError as error:
                if "space exceeded" in str(error):
                    return

    def _free_database(self) -> None:
        """Delete the filler, compact, defragment and disarm, as an operator does."""
        end = time.monotonic() + _REPAIR_TIMEOUT
        while True:
            self._restart_ended(self._topology.etcd.members)
            try:
                gateway = self._gateway()
                gateway.compact(gateway.delete(_FILLER))
                for endpoint in self._topology.etcd.endpoints:
                    EtcdGateway(endpoint, 10.0).defragment()
                gateway.disarm()
            except EtcdGatewayError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
            else:
                return

    def _gateway(self) -> EtcdGateway:
        members = self._topology.etcd.members
        member = next((each for each in members if EtcdGateway(each.endpoint, 0.5).is_leader()), members[0])
        return EtcdGateway(member.endpoint, 10.0)


def _each(targets: list[LaunchedProcess], action: Callable[[LaunchedProcess], object]) -> None:
    for process in targets:
        action(process)
