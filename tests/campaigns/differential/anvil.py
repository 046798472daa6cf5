"""anvil as the peer of Foreseal: a process that mines the blocks of another chain again.

    genesis = dev_genesis()
    with anvil(genesis) as peer:
        peer.repeat(block, raws)        # as sealed by the other node, including empty blocks, in order from block 1
        peer.rpc("eth_getBalance", address, "latest")

Unavoidable differences: block hashes (anvil computes another genesis state root and chooses its own mixHash), therefore
BLOCKHASH and PREVRANDAO, and contract results that depend on them.
"""

import contextlib
import json
import platform
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from live import Rpc, wait_for
from npm import find_node, install

HERE = Path(__file__).parent
START_TIME = 60.0
"""Seconds until it must listen; well under one on an idle machine."""

CALL_TIME = 300.0
"""Seconds for one call: the first blob loads the trusted setup with all its tables."""

FORK = "osaka"
"""The newest mainnet rules that the pinned version supports."""

_LISTENING = re.compile(r"Listening on (\S+)")
_SAME = "number", "timestamp", "gasLimit", "baseFeePerGas", "miner"


def anvil_command() -> Path:
    """Return the native binary, installed at first use; skip the calling test if there is none for this machine."""
    machine = platform.system(), platform.machine()
    if machine != ("Linux", "x86_64"):
        pytest.skip(f"anvil is pinned for Linux on x86_64 only, this is {' on '.join(machine)}")
    find_node()
    install(HERE)
    return HERE / "node_modules" / "@foundry-rs" / "anvil-linux-amd64" / "bin" / "anvil"


class Anvil:
    """A running anvil that mines only on command, in the order of arrival."""

    def __init__(self, genesis: dict[str, Any], *arguments: str) -> None:
        """`genesis` is in geth's format and should contain all system contracts and all funded accounts."""
        self._folder = tempfile.TemporaryDirectory(prefix="anvil-")
        file = Path(self._folder.name) / "genesis.json"
        file.write_text(json.dumps(genesis))
        options = [
            *("--init", str(file), "--hardfork", FORK, "--chain-id", str(genesis["config"]["chainId"])),
            *("--gas-limit", str(int(genesis["gasLimit"], 16)), "--enable-tx-gas-limit"),
            *("--accounts", "0", "--disable-default-create2-deployer"),
            *("--no-mining", "--order", "fifo"),
            # Without this option the traces of mined transactions have no steps.
            *("--steps-tracing", "--disable-console-log"),
        ]
        self.process = subprocess.Popen(
            [anvil_command(), "--port", "0", *options, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self.printed = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            address: str = wait_for(self._find_address, START_TIME, "the line that anvil listens", self._explain)
            self.rpc = Rpc(f"http://{address}", CALL_TIME)
        except BaseException:
            self.stop()
            raise

    def repeat(self, block: dict[str, Any], raws: Sequence[str]) -> dict[str, Any]:
        """Mine a block like `block`, of another node, from the signed transactions `raws`; return the new block.

        Fails if its environment or the order of its transactions differs.
        """
        self.rpc("anvil_setCoinbase", block["miner"])
        self.rpc("anvil_setNextBlockBaseFeePerGas", block["baseFeePerGas"])
        self.rpc("evm_setBlockGasLimit", block["gasLimit"])
        self.rpc("evm_setNextBlockTimestamp", block["timestamp"])
        hashes = [self.rpc("eth_sendRawTransaction", raw) for raw in raws]
        self.rpc("evm_mine")
        mined: dict[str, Any] = self.rpc("eth_getBlockByNumber", "latest", False)
        assert mined["transactions"] == hashes, "not all of them were mined, or in another order"
        assert {name: mined[name] for name in _SAME} == {name: block[name] for name in _SAME}
        return mined

    def stop(self) -> None:
        """Stop it; it stores nothing."""
        if hasattr(self, "rpc"):
            self.rpc.close()
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self._folder.cleanup()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                # It prints a line per call; only the lines before the first call matter.
                if not _LISTENING.search(self.printed):
                    self.printed += line

    def _find_address(self) -> str | None:
        found = _LISTENING.search(self.printed)
        return found[1] if found else None

    def _explain(self) -> str:
        code = self.process.poll()
        if code is not None:
            self._reader.join()
            raise RuntimeError(f"anvil ended with exit code {code}:\n{self.printed}")
        return f"anvil printed:\n{self.printed}"


@contextlib.contextmanager
def anvil(genesis: dict[str, Any], *arguments: str) -> Iterator[Anvil]:
    """Run anvil on the chain of `genesis` for the context."""
    peer = Anvil(genesis, *arguments)
    try:
        yield peer
    finally:
        peer.stop()
