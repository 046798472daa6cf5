"""A node under a driver: `foreseal run --engine`."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from live import LiveNode, wait_for
from live.process import foreseal_command, status_and_body, stopping
from optimism.block_client import BlockClient
from optimism.engine_client import read_secret
from optimism.genesis import genesis_bytes

Genesis = dict[str, Any] | Path | None
"""Genesis of a node: its content, its file, or None for that of the data directory."""

SECRET_FILE = "engine.jwt"
ENGINE_LOG_LEVEL = "warn,_core::engine_api=info"
"""Log level of a node whose log names the address of the Engine API."""
_ENGINE = re.compile(r"Engine API is served.*?address=(\S+)")
# Short steps make tests fast.
_STEP = ("--step", "50ms")
_SECONDS = 30.0


class OptimismNode(LiveNode):
    """A running node, with its Engine API."""

    def __init__(self, folder: Path, genesis: Genesis, *arguments: str) -> None:
        """Start in `folder`, which may contain the data of an earlier run."""
        self.secret_file = folder / SECRET_FILE
        self.command = engine_command(folder, genesis, *arguments)
        super().__init__(self.command)
        self.engine = connect_engine(self, self.secret_file)

    def _is_ready(self) -> bool:
        """Return True once only its driver can make it ready: on a busy machine it may wait longer than it may."""
        status, body = status_and_body(self.url + self.READY)
        return status == 200 or b"last call of the driver" in body

    def stop(self, pid: int | None = None) -> int:
        self.engine.close()
        return super().stop(pid)

    def kill(self) -> None:
        super().kill()
        # The driver's call in progress ends first: it finds the connection closed.
        self.engine.close()


def connect_engine(node: LiveNode, secret_file: Path) -> BlockClient:
    """Return a client of the Engine API of a node, at the address in its log."""
    match = wait_for(lambda: _ENGINE.search(node.printed), _SECONDS, "engine address", lambda: node.printed)
    return BlockClient(f"http://{match[1]}", read_secret(secret_file))


def engine_command(folder: Path, genesis: Genesis, *arguments: str) -> list[str]:
    """Return the command of a node with its files in `folder`, which is created if it does not exist."""
    folder.mkdir(exist_ok=True)
    file = genesis if isinstance(genesis, Path) else folder / "genesis.json"
    if isinstance(genesis, dict):
        file.write_bytes(genesis_bytes(genesis))
    engine = ("--engine", "127.0.0.1:0", "--engine-jwt", str(folder / SECRET_FILE))
    logged = ("--log-level", ENGINE_LOG_LEVEL)
    chain = ("--datadir", str(folder / "data"), *(() if genesis is None else ("--genesis", str(file))))
    return [foreseal_command(), "run", "--port", "0", *_STEP, *chain, *engine, *logged, *arguments]


@contextlib.contextmanager
def optimism_node(folder: Path, genesis: Genesis, *arguments: str) -> Iterator[OptimismNode]:
    """Run a node under a driver; SIGTERM at the end must stop it with exit code 0."""
    with stopping(OptimismNode(folder, genesis, *arguments)) as node:
        yield node
