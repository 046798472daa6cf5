"""Nodes for development as they start: Foreseal under automine, anvil, and hardhat's node, which runs edr."""

import contextlib
import re
import tempfile
from collections.abc import Iterator

from differential.anvil import FORK, AnvilProcess, anvil_command
from libraries.library import HARDHAT, hardhat_program
from live import Rpc, live_node
from live.process import PeerProcess
from live.rpc import JSON_TYPE, HttpAnswer

GAS_LIMIT = 30_000_000
_CONFIGURATION = """
export default {{
  networks: {{
    node: {{ type: 'edr-simulated', chainId: 31337, hardfork: 'osaka', blockGasLimit: {gas_limit},
      throwOnTransactionFailures: false }},
  }},
}}
"""


class Peer:
    """A node of the comparison."""

    def __init__(self, name: str, rpc: Rpc) -> None:
        self.name = name
        self.rpc = rpc
        # hardhat 3 has no hardhat_reset.
        self._first = str(rpc("evm_snapshot"))

    def reset(self) -> None:
        """Return to the state in which it started."""
        if self.rpc("evm_revert", self._first) is not True:
            raise RuntimeError(f"{self.name} does not return to its first snapshot")
        self._first = str(self.rpc("evm_snapshot"))


class _AnvilPeer(Peer):
    def reset(self) -> None:
        """Empty the pool as well, which anvil's revert does not."""
        self.rpc("anvil_dropAllTransactions")
        super().reset()


class _Sealed(Rpc):
    """The endpoint `/sealed`, which shows a transaction when its block is sealed, as the others do."""

    def post(self, body: bytes, headers: dict[str, str] = JSON_TYPE) -> HttpAnswer:
        return self.request("POST", "/sealed", body, headers)


class _Hardhat(PeerProcess):
    URL = re.compile(r"(?<=JSON-RPC server at http://)[^/\s]+")


@contextlib.contextmanager
def foreseal_peer() -> Iterator[Peer]:
    """Run a development chain under automine."""
    with live_node("--automine") as node:
        rpc = _Sealed(node.url)
        yield Peer("foreseal", rpc)
        rpc.close()


@contextlib.contextmanager
def anvil_peer() -> Iterator[Peer]:
    """Run anvil, pinned in package.json."""
    command = [anvil_command(), "--port", "0", "--hardfork", FORK]
    command += ["--gas-limit", str(GAS_LIMIT), "--enable-tx-gas-limit"]
    yield from _running(_AnvilPeer, "anvil", AnvilProcess([*map(str, command), "--disable-console-log"]))


@contextlib.contextmanager
def hardhat_peer() -> Iterator[Peer]:
    """Run hardhat's node, pinned in the project of the campaign of libraries, which also has its Node.js."""
    program, folder = hardhat_program(3), HARDHAT[3]
    with tempfile.NamedTemporaryFile("w", suffix=".config.js", dir=folder) as file:
        file.write(_CONFIGURATION.format(gas_limit=GAS_LIMIT))
        file.flush()
        command = [*program, "--config", file.name, "node", "--port", "0"]
        yield from _running(Peer, "hardhat", _Hardhat(command, folder))


def _running(kind: type[Peer], name: str, process: PeerProcess) -> Iterator[Peer]:
    try:
        rpc = Rpc(process.url)
        yield kind(name, rpc)
        rpc.close()
    finally:
        process.kill()
