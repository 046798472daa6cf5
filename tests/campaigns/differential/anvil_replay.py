"""A Foreseal node, and anvil, which repeats its chain block by block."""

import contextlib
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from differential.anvil import Anvil, anvil
from live import LiveNode, live_node, wait_for

RECEIPT_TIME = 30.0


class AnvilReplay:
    """Two nodes with the same chain, except for values that anvil cannot be given (see anvil.py)."""

    def __init__(self, node: LiveNode, peer: Anvil) -> None:
        self.node = node
        self.peer = peer
        self._raws: dict[str, str] = {}
        self.replayed_head = 0

    def send(self, *raws: str) -> list[str]:
        """Send signed transactions to Foreseal and return their hashes."""
        hashes = [str(self.node.rpc("eth_sendRawTransaction", raw)) for raw in raws]
        self._raws |= zip(hashes, raws, strict=True)
        return hashes

    def settle(self) -> None:
        """Wait until all transactions are in sealed blocks; anvil then mines the same blocks."""
        for tx_hash in self._raws:
            wait_for(partial(self._sealed, tx_hash), RECEIPT_TIME, f"sealed receipt of {tx_hash}")
        head = int(self.node.rpc("eth_blockNumber"), 16)
        for number in range(self.replayed_head + 1, head + 1):
            block = self.node.rpc("eth_getBlockByNumber", hex(number), False)
            self.peer.repeat(block, [self._raws[tx_hash] for tx_hash in block["transactions"]])
        self.replayed_head = head

    def _sealed(self, tx_hash: str) -> bool:
        receipt = self.node.rpc("eth_getTransactionReceipt", tx_hash)
        return receipt is not None and int(receipt["blockNumber"], 16) <= int(self.node.rpc("eth_blockNumber"), 16)


@contextlib.contextmanager
def anvil_replay(folder: Path, *arguments: str) -> Iterator[AnvilReplay]:
    """Run a development node with its data in `folder`, and anvil with the same genesis."""
    with live_node("--datadir", str(folder), *arguments) as node:
        genesis: dict[str, Any] = json.loads((folder / "genesis.json").read_text())
        with anvil(genesis) as peer:
            yield AnvilReplay(node, peer)
