"""A running cluster whose engine and steps are recorded, with a load if one is started."""

import time
from collections.abc import Callable, Sequence

from cluster.engine_observer import EngineObserver
from cluster.final_chain import read_final_chain
from cluster.recording import EngineOwner, Recording
from cluster.step_reader import StepReader
from cluster.transfer_load import TransferLoad
from foreseal.cluster.node_process import NodeProcess
from real_cluster import ask

_POLL = 0.02


class ObservedCluster:
    """A reader of steps at each node, and a watch at each member of the engine, which fill one recording."""

    def __init__(
        self, nodes: Sequence[NodeProcess], endpoints: Sequence[str], prefix: bytes, recording: Recording
    ) -> None:
        """`nodes` begin with the leader, which must answer. `endpoints` and `prefix` are those of the journal."""
        self.recording = recording
        self.load: TransferLoad | None = None
        self._nodes = nodes
        self.signer: str | None = ask(nodes[0], "foreseal_status")["signer"]
        genesis = ask(nodes[0], "eth_getBlockByNumber", "0x0", False)
        cursor = {"block": "0x0", "index": "0x0", "hash": genesis["hash"]}
        self._observer = EngineObserver(endpoints, prefix, recording)
        self.readers = [StepReader(node.name, node.port, cursor, recording) for node in nodes]

    @property
    def owner(self) -> EngineOwner | None:
        """The newest owner of the engine."""
        return self.recording.owners[-1] if self.recording.owners else None

    @property
    def leader(self) -> NodeProcess:
        """The node that is the newest owner; before there is one, the first node."""
        owner = self.owner
        return next((each for each in self._nodes if owner and each.name == owner.name), self._nodes[0])

    def start_load(self, ports: Sequence[int], rate: float, seed: int) -> None:
        """Send transfers to these ports until `stop` or `settle`."""
        self.load = TransferLoad(ports, rate, seed, self.is_included)

    def stop(self) -> None:
        """Stop load, readers and watches."""
        self._stop_load()
        for reader in self.readers:
            reader.stop()
        self._observer.stop()

    def is_included(self, transaction: str) -> bool:
        """Return True if a process showed a step with this transaction."""
        return any(transaction in each.included for each in self.readers)

    def wait_for_progress(self, timeout: float, after: str) -> None:
        """Wait until each process shows a step that is newer than the newest one now. `after` names what was done."""
        newest = max((each.newest.position for each in self.readers if each.newest), default=(0, 0))
        self.wait(
            lambda: all(each.newest is not None and each.newest.position > newest for each in self.readers),
            timeout,
            f"no progress at every process after {after}",
        )

    def settle(self, timeout: float) -> None:
        """Stop the load, wait until every reader has the sealed head, then read the chain up to it."""
        self._stop_load()
        self.wait_for_progress(timeout, "the load")
        leader = self.leader
        number = int(ask(leader, "eth_blockNumber"), 16)
        # Only sealed blocks are final for the comparison; later steps are compared by position and content.
        self.wait(
            lambda: all(each.newest is not None and each.newest.number > number + 1 for each in self.readers),
            timeout,
            "a reader did not reach the sealed head",
        )
        for reader in self.readers:
            reader.stop()
        # The readers stop one after the other: a block that is sealed meanwhile is not complete at all of them.
        self.recording.final = read_final_chain(leader, number, self.recording)

    def wait(self, condition: Callable[[], bool], timeout: float, problem: str) -> None:
        """Wait for a condition. If it does not hold within `timeout` seconds, record the problem."""
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                self.recording.problems.append(f"{problem} within {timeout:.0f} s")
                return
            time.sleep(_POLL)

    def _stop_load(self) -> None:
        if self.load is not None:
            self.load.stop()
