"""geth as the peer of Foreseal: a process that answers calls and traces on the genesis block of a chain.

Without a consensus client geth makes no blocks, so only the genesis state is compared. Its hash is equal on both.
"""

import contextlib
import fcntl
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from live import Rpc
from live.process import PeerProcess
from repository import CAMPAIGNS, ROOT

MODULE = CAMPAIGNS / "libraries" / "golang"
"""Module of Go whose go.mod pins geth."""
PROGRAM = ROOT / "target" / "differential" / "geth"
INIT_TIME = 120.0
CALL_TIME = 120.0
BUILD_TIME = 1_800.0
"""Seconds for the first build, which compiles the cryptography."""
GAS_CAP = 400_000_000
"""Gas of a call without a limit, as Foreseal's default."""


class Geth(PeerProcess):
    """A running geth."""

    URL = re.compile(r"(?<=endpoint=)\S+(?= auth=false)")


def build() -> None:
    """Build the pinned geth, or keep it if nothing has changed. Raises RuntimeError without Go."""
    if shutil.which("go") is None:
        raise RuntimeError("Go is not on the PATH: this comparison builds geth")
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    with (PROGRAM.parent / ".exclusive").open("w") as exclusive:
        fcntl.flock(exclusive, fcntl.LOCK_EX)
        command = ["go", "build", "-mod=readonly", "-o", str(PROGRAM), "github.com/ethereum/go-ethereum/cmd/geth"]
        subprocess.run(command, cwd=MODULE, check=True, timeout=BUILD_TIME)


@contextlib.contextmanager
def geth(genesis: dict[str, Any]) -> Iterator[Rpc]:
    """Run geth on a genesis in its format, and provide its JSON-RPC; skip the calling test if it is not built.

    The gate does not have Go, and the build takes minutes.
    """
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM.relative_to(ROOT)} does not exist: `make differential` builds it")
    with tempfile.TemporaryDirectory(prefix="geth-") as folder:
        file = Path(folder) / "genesis.json"
        file.write_text(json.dumps(genesis))
        common = [str(PROGRAM), "--datadir", f"{folder}/data"]
        subprocess.run([*common, "init", str(file)], check=True, capture_output=True, timeout=INIT_TIME)
        running = Geth(
            [
                *(*common, "--nodiscover", "--maxpeers", "0", "--port", "0", "--ipcdisable", "--authrpc.port", "0"),
                *("--syncmode", "full", "--gcmode", "archive", "--log.format", "logfmt"),
                *("--http", "--http.port", "0", "--http.api", "eth,debug", "--rpc.gascap", str(GAS_CAP)),
            ]
        )
        try:
            rpc = Rpc(running.url, CALL_TIME)
            yield rpc
            rpc.close()
        finally:
            running.kill()
