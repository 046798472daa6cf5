"""A node whose blocks a driver builds."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from live import LiveNode, wait_for
from live.process import foreseal_command, stopping
from optimism.engine_client import EngineClient, read_secret

_ADDRESS = re.compile(r"the Engine API is served.*?address=\W*(\d[\d.]*:\d+)")
_COLOR = re.compile(r"\x1b\[[0-9;]*m")


class EngineNode(LiveNode):
    """A running node, with a client of its Engine API."""

    def __init__(self, folder: Path, genesis: Path | None, *arguments: str) -> None:
        """`folder` holds the chain and the secret."""
        self.secret_file = folder / "engine.jwt"
        command = [foreseal_command(), "run", "--port", "0", "--datadir", str(folder / "chain")]
        if genesis is not None:
            command += ["--genesis", str(genesis)]
        command += ["--engine", "127.0.0.1:0", "--engine-jwt", str(self.secret_file), "--log-level", "info"]
        super().__init__([*command, *arguments])
        address = wait_for(self._engine_address, 10, "the address of the Engine API", self._explain)
        self.engine_url = f"http://{address}"
        self.engine = EngineClient(self.engine_url, read_secret(self.secret_file))

    def _engine_address(self) -> str | None:
        found = _ADDRESS.search(_COLOR.sub("", self.printed))
        return found[1] if found else None


@contextlib.contextmanager
def engine_node(folder: Path, genesis: Path | dict[str, Any] | None, *arguments: str) -> Iterator[EngineNode]:
    """Run a node in `folder`; SIGTERM at the end must stop it with exit code 0."""
    if isinstance(genesis, dict):
        content, genesis = genesis, folder / "genesis.json"
        genesis.write_bytes(orjson.dumps(content))
    with stopping(EngineNode(folder, genesis, *arguments)) as node:
        yield node
