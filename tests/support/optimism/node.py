"""A node under a driver: `foreseal run --engine`."""

import contextlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from live import LiveNode, wait_for
from live.process import foreseal_command, stopping
from optimism.block_client import BlockClient
from optimism.engine_client import Clock, read_secret
from optimism.genesis import genesis_bytes

Genesis = dict[str, Any] | Path | None
"""Genesis of a node: its content, its file, or None for that of the data directory."""

_ENGINE = re.compile(r"Engine API is served.*?address=(\S+)")
_SECONDS = 30.0
_SECRET = "engine.jwt"
# Short steps make tests fast.
STEP = ("--step", "50ms")


class OptimismNode(LiveNode):
    """A running node, with its Engine API."""

    def __init__(self, folder: Path, genesis: Genesis, *arguments: str, clock: Clock = time.time) -> None:
        """Start in `folder`, which may hold the data of an earlier run; None is the genesis of that run."""
        self.datadir = folder / "data"
        self.secret_file = folder / _SECRET
        self.command = engine_command(folder, genesis, *arguments)
        super().__init__(self.command)
        found = wait_for(lambda: _ENGINE.search(self.printed), _SECONDS, "engine address", lambda: self.printed)
        self.engine_url = f"http://{found[1]}"
        self.engine = BlockClient(self.engine_url, read_secret(self.secret_file), clock)

    def stop(self, pid: int | None = None) -> int:
        self.engine.close()
        return super().stop(pid)

    def kill(self) -> None:
        super().kill()
        # The driver's call in progress ends first: it finds the connection closed.
        self.engine.close()


def engine_command(folder: Path, genesis: Genesis, *arguments: str) -> list[str]:
    """Return the command of a node with its files in `folder`, which is created if it does not exist."""
    folder.mkdir(exist_ok=True)
    file = genesis if isinstance(genesis, Path) else folder / "genesis.json"
    if isinstance(genesis, dict) and not file.exists():
        file.write_bytes(genesis_bytes(genesis))
    engine = ("--engine", "127.0.0.1:0", "--engine-jwt", str(folder / _SECRET))
    # The only line that names the port of the Engine API.
    logged = ("--log-level", "warn,_core::engine_api=info")
    chain = ("--datadir", str(folder / "data"), *(() if genesis is None else ("--genesis", str(file))))
    return [foreseal_command(), "run", "--port", "0", *STEP, *chain, *engine, *logged, *arguments]


@contextlib.contextmanager
def optimism_node(folder: Path, genesis: Genesis, *arguments: str) -> Iterator[OptimismNode]:
    """Run a node under a driver; SIGTERM at the end must stop it with exit code 0."""
    with stopping(OptimismNode(folder, genesis, *arguments)) as node:
        yield node
