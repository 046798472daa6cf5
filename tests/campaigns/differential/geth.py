"""geth as the peer of Foreseal: a process that answers calls and traces on the genesis block of a chain.

Without a consensus client geth makes no blocks, so only the genesis state is compared. Its hash is equal on both.
"""

import contextlib
import fcntl
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foreseal.ports import next_free_port
from live import Rpc, RpcFailure, wait_for
from repository import ROOT

HERE = Path(__file__).parent / "geth"
PROGRAM = ROOT / "target" / "differential" / "geth"
START_TIME = 120.0
CALL_TIME = 120.0
BUILD_TIME = 1_800.0
"""Seconds for the first build, which compiles the cryptography."""
GAS_CAP = 400_000_000
"""Gas of a call without a limit, as Foreseal's default."""


def build() -> None:
    """Build the pinned geth, or keep it if nothing has changed. Raises RuntimeError without Go."""
    if shutil.which("go") is None:
        raise RuntimeError("Go is not on the PATH: this comparison builds geth")
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    with (PROGRAM.parent / ".exclusive").open("w") as exclusive:
        fcntl.flock(exclusive, fcntl.LOCK_EX)
        command = ["go", "build", "-mod=readonly", "-o", str(PROGRAM), "github.com/ethereum/go-ethereum/cmd/geth"]
        subprocess.run(command, cwd=HERE, check=True, timeout=BUILD_TIME)


@contextlib.contextmanager
def geth(genesis: dict[str, Any]) -> Iterator[Rpc]:
    """Run geth on a genesis in its format, and provide its JSON-RPC; skip the calling test if it is not built."""
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM.relative_to(ROOT)} does not exist: `make differential` builds it")
    program = str(PROGRAM)
    with tempfile.TemporaryDirectory(prefix="geth-") as folder, contextlib.ExitStack() as stack:
        file, log = Path(folder) / "genesis.json", Path(folder) / "log"
        file.write_text(json.dumps(genesis))
        common = [program, "--datadir", f"{folder}/data", "--verbosity", "2"]
        subprocess.run([*common, "init", str(file)], check=True, capture_output=True, timeout=START_TIME)
        port = next_free_port()
        output = stack.enter_context(log.open("wb"))
        process = subprocess.Popen(
            [
                *(*common, "--nodiscover", "--maxpeers", "0", "--port", "0", "--ipcdisable"),
                *("--syncmode", "full", "--gcmode", "archive", "--authrpc.port", str(next_free_port())),
                *("--http", "--http.port", str(port), "--http.api", "eth,debug", "--rpc.gascap", str(GAS_CAP)),
            ],
            stdout=output,
            stderr=output,
        )
        stack.callback(_stop, process)
        rpc = Rpc(f"http://127.0.0.1:{port}", CALL_TIME)
        stack.callback(rpc.close)

        def is_ready() -> bool:
            if process.poll() is not None:
                raise RuntimeError(f"geth ended:\n{log.read_text()}")
            try:
                return bool(rpc("eth_chainId"))
            except (OSError, RpcFailure):
                return False

        wait_for(is_ready, START_TIME, "geth answers")
        yield rpc


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
