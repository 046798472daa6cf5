"""A node under a driver, alone or with workers, with a connection to each of its processes."""

from pathlib import Path
from typing import Any, Protocol

from live import LiveNode, Rpc
from optimism.block_client import BlockClient
from optimism.genesis import genesis_bytes
from optimism.node import ENGINE_LOG_LEVEL, SECRET_FILE, OptimismNode, connect_engine
from workers.node import WorkersNode


class ServingNode(Protocol):
    """A node whose processes all show the same chain."""

    engine: BlockClient
    live: LiveNode

    def each(self) -> list[Rpc]:
        """Return a connection to each process that serves clients."""
        ...

    @property
    def others(self) -> list[Rpc]:
        """Processes that show the same chain as those of `each`; the last one writes it."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


class SingleNode:
    """A node of one process."""

    def __init__(self, folder: Path, genesis: dict[str, Any]) -> None:
        node = OptimismNode(folder, genesis)
        self.live: LiveNode = node
        self.engine = node.engine

    def each(self) -> list[Rpc]:
        """Return the only process."""
        return [self.live.rpc]

    @property
    def others(self) -> list[Rpc]:
        """The only process, which writes the chain."""
        return [self.live.rpc]

    def close(self) -> None:
        """Close all connections."""
        self.engine.close()


class OptimismWorkersNode(WorkersNode):
    """A node under a driver with workers."""

    def __init__(self, folder: Path, genesis: dict[str, Any], workers: int, contract: str) -> None:
        """`contract` is the address of a contract in the genesis."""
        folder.mkdir(exist_ok=True)
        file, secret = folder / "genesis.json", folder / SECRET_FILE
        file.write_bytes(genesis_bytes(genesis))
        self._genesis_contract = contract
        engine = ("--genesis", str(file), "--engine", "127.0.0.1:0", "--engine-jwt", str(secret))
        logged = ("--log-level", f"{ENGINE_LOG_LEVEL},foreseal.supervisor=info")
        super().__init__(folder / "data", workers, *engine, *logged)
        self.engine = connect_engine(self.live, secret)

    def close(self) -> None:
        """Close all connections."""
        super().close()
        self.engine.close()

    def _make_chain(self, datadir: Path) -> str:
        return self._genesis_contract


def serving_node(folder: Path, genesis: dict[str, Any], workers: int, contract: str) -> ServingNode:
    """Start a node; with `workers` 0 it has one process."""
    if workers == 0:
        return SingleNode(folder, genesis)
    return OptimismWorkersNode(folder, genesis, workers, contract)
