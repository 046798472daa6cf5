"""A node under a driver, alone or with workers, with a connection to each of its processes."""

import re
from pathlib import Path
from typing import Any, Protocol

from live import LiveNode, Rpc, wait_for
from optimism.block_client import BlockClient
from optimism.engine_client import read_secret
from optimism.genesis import genesis_bytes
from optimism.node import OptimismNode
from workers.node import WorkersNode

_ENGINE = re.compile(r"Engine API is served.*?address=(\S+)")
_SECONDS = 30.0


class ServingNode(Protocol):
    """A node whose processes all show the same chain."""

    engine: BlockClient
    live: LiveNode

    def each(self) -> list[Rpc]:
        """Return a connection to each process that serves clients."""
        ...

    @property
    def others(self) -> list[Rpc]:
        """Processes that show the same chain; the last one writes it."""
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
        """`contract` is one of the genesis."""
        folder.mkdir(exist_ok=True)
        file, secret = folder / "genesis.json", folder / "engine.jwt"
        file.write_bytes(genesis_bytes(genesis))
        self._genesis_contract = contract
        engine = ("--genesis", str(file), "--engine", "127.0.0.1:0", "--engine-jwt", str(secret))
        logged = ("--log-level", "warn,foreseal.supervisor=info,_core::engine_api=info")
        super().__init__(folder / "data", workers, *engine, *logged)
        found = wait_for(lambda: _ENGINE.search(self.live.printed), _SECONDS, "engine address")
        self.engine = BlockClient(f"http://{found[1]}", read_secret(secret))

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
