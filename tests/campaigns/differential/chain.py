"""A Foreseal chain in this process that a workload fills block by block."""

import contextlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import orjson

from differential.workload import SENDERS, Feature, Workload, World
from foreseal import _core
from foreseal.errors import RpcError
from foreseal.testing import Chain, ChainSettings

FEE_RECIPIENT = "0x00000000000000000000000000000000000000fe"
GAS_LIMIT = 12_000_000
"""Gas limit, low enough that blocks fill up and the base fee moves both ways."""


class _Settings(ChainSettings):
    def for_core(self, datadir: Path) -> bytes:
        given = orjson.loads(super().for_core(datadir))
        return orjson.dumps(given | {"fee_recipient": FEE_RECIPIENT, "extra_data": "0x"})


def genesis_of(world: World) -> dict[str, Any]:
    """Return the development genesis, in geth's format, with a world in it."""
    settings = ChainSettings()
    with tempfile.TemporaryDirectory() as folder:
        _core.SteppedNode(settings.for_core(Path(folder)), settings.time).stop()
        genesis: dict[str, Any] = json.loads((Path(folder) / "genesis.json").read_text())
    genesis["gasLimit"] = hex(GAS_LIMIT)
    genesis["alloc"] |= world.alloc()
    return genesis


class Filled:
    """A chain, and the transactions sent to it."""

    def __init__(self, chain: Chain, world: World, seed: int) -> None:
        self.chain = chain
        self.kinds: Counter[str] = Counter()
        """Sealed transactions by kind."""
        self.refused: Counter[str] = Counter()
        """Transactions that the pool rejected, by its message."""
        self.raws: dict[str, str] = {}
        """Signed transactions as sent, blobs included, by hash; 0x hex."""
        self.workload = Workload(world, seed, self._nonce)
        self._kind_of: dict[str, str] = {}
        self._world = world
        self._random = Random(f"chain {seed}")

    def next_block(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return a new sealed block, with transaction hashes, and its receipts."""
        random = self._random
        if random.random() < 0.3:
            self.chain.advance(random.randrange(1, 100))
        for _ in range(random.randint(2, 8)):
            for kind, raw in self.workload.group(random.randint(1, len(SENDERS) // 2), self._left_out()):
                self._send(kind, raw)
            self.chain.step()
        self.chain.mine()
        block = self.chain.rpc("eth_getBlockByNumber", "latest", False)
        receipts = self.chain.rpc("eth_getBlockReceipts", "latest")
        self.kinds.update(self._kind_of[tx_hash] for tx_hash in block["transactions"])
        for receipt in receipts:
            if receipt["contractAddress"] is not None:
                self._world.learn(receipt["contractAddress"])
        return block, receipts

    def _send(self, kind: str, raw: str) -> None:
        try:
            tx_hash = self.chain.rpc("eth_sendRawTransaction", raw)
        except RpcError as error:
            self.refused[f"{kind}: {error.message}"] += 1
        else:
            self.raws[tx_hash] = raw
            self._kind_of[tx_hash] = kind

    def _left_out(self) -> set[str]:
        """Return senders with a gap between their pending nonce and their transactions in the pending block."""
        if Feature.NONCE_GAPS not in self._world.left_out:
            return set()
        pending = self.chain.rpc("eth_getBlockByNumber", "pending", True)["transactions"]
        sent = Counter(transaction["from"] for transaction in pending)
        addresses = [sender.address for sender in SENDERS]
        return {a for a in addresses if self._nonce(a) != self._nonce(a, "latest") + sent[a.lower()]}

    def _nonce(self, address: str, block: str = "pending") -> int:
        return int(self.chain.rpc("eth_getTransactionCount", address, block), 16)


@contextlib.contextmanager
def filled(genesis: dict[str, Any], world: World, seed: int) -> Iterator[Filled]:
    """Provide a chain of this genesis, which contains `world`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "genesis.json"
        file.write_text(json.dumps(genesis))
        with Chain(_Settings(automine=False, genesis=file)) as chain:
            yield Filled(chain, world, seed)
