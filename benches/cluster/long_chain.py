"""A data directory with many blocks, made as fast as a development node can mine."""

import shutil
import time
from pathlib import Path
from typing import Any

from benches.cluster.bench_nodes import PROGRAM, READY_TIMEOUT, BenchNodes

from foreseal.cluster.launched_process import LaunchedProcess, wait_until
from foreseal.cluster.node_process import NodeProcess
from foreseal.cluster.rpc_endpoint import RpcEndpoint
from foreseal.errors import NodeError
from foreseal.ports import next_free_port

CALL_BLOCKS = 5_000
_CALL_TIMEOUT = 600.0
_STORE_TIMEOUT = 3600.0
_POLL = 0.2
_SHOWN_EVERY = 100_000


class MiningNode:
    """A development node that mines on command."""

    def __init__(self, nodes: BenchNodes, folder: Path) -> None:
        port = next_free_port()
        self._endpoint = RpcEndpoint(f"http://127.0.0.1:{port}", timeout=_CALL_TIMEOUT)
        options = ("--automine", "--port", str(port), "--genesis", str(nodes.files.genesis))
        command = (*PROGRAM, "dev", "--datadir", str(folder), *options, "--log-level", "error")
        self.process = LaunchedProcess("mining", command, nodes.folder / "mining.txt")

    def start(self) -> None:
        """Start it and wait until it answers. Raises NodeError."""
        self.process.start()
        wait_until(self._answers, [self.process], READY_TIMEOUT)

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of a call. Raises NodeError."""
        return self._endpoint.call(method, *params).result

    def mine(self, blocks: int) -> None:
        """Mine blocks, and wait until the store has them. Raises NodeError."""
        # From the past on, one second a block: the chain must not be ahead of the clock when it continues.
        self.call("evm_setNextBlockTimestamp", int(time.time()) - 4 * blocks)
        for first in range(0, blocks, CALL_BLOCKS):
            self.call("anvil_mine", hex(min(CALL_BLOCKS, blocks - first)))
            if first and first % _SHOWN_EVERY == 0:
                print(f"{first:,} of {blocks:,} blocks", flush=True)
        end = time.monotonic() + _STORE_TIMEOUT
        while self.call("foreseal_status")["store"]["backlog"]:
            if time.monotonic() > end:
                raise NodeError("store", f"the store is behind after {_STORE_TIMEOUT:.0f} s")
            time.sleep(_POLL)

    def _answers(self) -> bool:
        try:
            return bool(self.call("eth_blockNumber"))
        except NodeError:
            return False


def give_long_chain(nodes: BenchNodes, node: NodeProcess, blocks: int) -> float:
    """Make the chain of a node that has not started, and return the seconds that it took. Raises NodeError."""
    began = time.monotonic()
    mining = MiningNode(nodes, node.datadir)
    try:
        mining.start()
        mining.mine(blocks)
    finally:
        mining.process.stop()
    # Steps of the continued chain must have the signer of the earlier ones.
    shutil.copy(node.datadir / "sequencer.key", nodes.files.sequencer_key)
    return time.monotonic() - began
