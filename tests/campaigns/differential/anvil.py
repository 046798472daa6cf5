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
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from live import Rpc
from live.process import PeerProcess
from npm import find_node, install

HERE = Path(__file__).parent
CALL_TIME = 300.0
"""Seconds for one call: the first blob loads the trusted setup with all its tables."""

FORK = "osaka"
"""The newest mainnet rules that the pinned version supports."""

_SAME = "number", "timestamp", "gasLimit", "baseFeePerGas", "miner"


def anvil_command() -> Path:
    """Return the native binary, installed at first use; skip the calling test if there is none for this machine."""
    machine = platform.system(), platform.machine()
    if machine != ("Linux", "x86_64"):
        pytest.skip(f"anvil is pinned for Linux on x86_64 only, this is {' on '.join(machine)}")
    find_node()
    install(HERE)
    return HERE / "node_modules" / "@foundry-rs" / "anvil-linux-amd64" / "bin" / "anvil"


class AnvilProcess(PeerProcess):
    """A running anvil."""

    URL = re.compile(r"(?<=Listening on )\S+")


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
        try:
            self._process = AnvilProcess([str(anvil_command()), "--port", "0", *options, *arguments])
        except BaseException:
            self._folder.cleanup()
            raise
        self.rpc = Rpc(self._process.url, CALL_TIME)

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
        self.rpc.close()
        self._process.kill()
        self._folder.cleanup()


@contextlib.contextmanager
def anvil(genesis: dict[str, Any], *arguments: str) -> Iterator[Anvil]:
    """Run anvil on the chain of `genesis` for the context."""
    peer = Anvil(genesis, *arguments)
    try:
        yield peer
    finally:
        peer.stop()
