"""Writes the same content to any node by standard methods. Blocks end on command if the node supports it."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from foreseal.bench.chain_content import ETHER, BenchAccount, ChainContent, ContentShape, SignedTransaction, account
from foreseal.bench.errors import BenchError, ErrorResponse
from foreseal.bench.node import BenchNode
from foreseal.bench.progress import ProgressCallback, ProgressUpdate, filling

_POLL_INTERVAL = 0.005
_INCLUSION = 60.0
"""Seconds until a transaction must be in a block."""
_READY = 60.0
"""Seconds until a freshly started node must accept control calls."""
_CHUNK_SIZE = 100
"""Calls per batch."""
_FUNDED_BALANCE = 3000 * ETHER


@dataclass(frozen=True)
class FilledNode:
    """A node with its content."""

    node: BenchNode
    contents: ChainContent
    heights: tuple[int, ...]
    """Number of each block of the content; a node may have put empty blocks between them."""
    dense: tuple[int, ...]
    """Numbers of the dense blocks, oldest first."""
    tokens: tuple[str, ...]
    """Hashes of the transactions of the newest dense block."""

    @property
    def head(self) -> int:
        """Number of the newest block of the content."""
        return self.heights[-1]


class BlockControl:
    """Block production of a node."""

    def __init__(self, node: BenchNode) -> None:
        self.node = node
        deadline = time.monotonic() + _READY
        while True:
            try:
                # The node makes no block on its own from here on.
                node.call("evm_setAutomine", False)
                node.call("evm_setIntervalMining", 0)
            except ErrorResponse as error:
                if error.starting and time.monotonic() < deadline:
                    time.sleep(_POLL_INTERVAL)
                    continue
                if not error.unknown_method:
                    raise
                self.is_manual = False
            else:
                self.is_manual = True
            return

    def put(self, transactions: Sequence[SignedTransaction]) -> int:
        """Include exactly these transactions of one account in one block, in this order, and return its number.

        Raise BenchError if that fails.
        """
        if self.is_manual:
            submit(self.node, transactions)
            self.node.call("evm_mine")
        else:
            # Transactions with later nonces wait in the pool. The first nonce comes last and makes all of them
            # executable.
            submit(self.node, transactions[:0:-1])
            submit(self.node, transactions[:1])
        return int(included(self.node, transactions)[-1]["blockNumber"], 16)


class ContentWriter:
    """A node that receives content, once or several times."""

    def __init__(self, node: BenchNode, shape: ContentShape) -> None:
        """Create the token and send ether and tokens to every sender. Raise BenchError on failure."""
        self.node, self.shape = node, shape
        chain_id = int(node.call("eth_chainId"), 16)
        self.contents = ChainContent(chain_id, shape, funded(node, chain_id))
        self._mining = BlockControl(node)
        for transactions in self.contents.first():
            for chunk in _chunks(transactions):
                self._mining.put(chunk)
        _has_code(node, self.contents)

    def fill(self, show: ProgressCallback) -> FilledNode:
        """Send all blocks of the shape. Raise BenchError if a transaction fails or is in a wrong block."""
        heights: list[int] = []
        dense: list[int] = []
        newest: list[SignedTransaction] = []
        for number in range(self.shape.blocks):
            transactions = self.contents.block(number)
            heights.append(self._mining.put(transactions))
            if self.shape.is_dense(number):
                dense, newest = [*dense, _together(self.node, transactions)], transactions
            if number % 20 == 0 or number + 1 == self.shape.blocks:
                show(ProgressUpdate(filling(self.node.name), "", number + 1, self.shape.blocks))
        return FilledNode(
            self.node, self.contents, tuple(heights), tuple(dense), tuple(transaction.hash for transaction in newest)
        )


def funded(node: BenchNode, chain_id: int) -> BenchAccount:
    """Return the first account of the mnemonic, which pays for everything; the node's own account funds it."""
    payer = account(0)
    address = "0x" + payer.address.hex()
    if int(node.call("eth_getBalance", address, "latest"), 16) < _FUNDED_BALANCE:
        try:
            (rich, *_) = node.call("eth_accounts")
            funding = {"from": rich, "to": address, "value": hex(2 * _FUNDED_BALANCE)}
            included(node, [SignedTransaction("", node.call("eth_sendTransaction", funding))])
        except (BenchError, ValueError) as error:
            raise BenchError(
                f"{node.name}: {address} has too little ether on chain {chain_id}, and the node has no account that "
                f"gives it some ({error}): it is the first account of the words that development nodes use"
            ) from None
    # The first block also includes the transactions that an earlier run left in the pool.
    payer.nonce = int(node.call("eth_getTransactionCount", address, "pending"), 16)
    return payer


def submit(node: BenchNode, transactions: Sequence[SignedTransaction]) -> None:
    """Send the transactions in order. Raise BenchError on failure."""
    for chunk in _chunks(transactions):
        hashes = node.call_batch([("eth_sendRawTransaction", [transaction.raw]) for transaction in chunk])
        if hashes != [transaction.hash for transaction in chunk]:
            raise BenchError(f"{node.name}: eth_sendRawTransaction answered another hash than the transaction has")


def included(
    node: BenchNode, transactions: Sequence[SignedTransaction], patience: float = _INCLUSION
) -> list[dict[str, Any]]:
    """Return the receipts once all exist. Raise BenchError after `patience` seconds or if a transaction failed."""
    receipts: dict[str, dict[str, Any]] = {}
    deadline = time.monotonic() + patience
    while missing := [transaction for transaction in transactions if transaction.hash not in receipts]:
        for chunk in _chunks(missing):
            try:
                answers = node.call_batch([("eth_getTransactionReceipt", [transaction.hash]) for transaction in chunk])
            except ErrorResponse as error:
                if not error.starting:
                    raise
                break
            receipts |= {
                transaction.hash: receipt for transaction, receipt in zip(chunk, answers, strict=True) if receipt
            }
        if len(receipts) < len(transactions):
            if time.monotonic() > deadline:
                raise BenchError(f"{node.name}: {missing[0].hash} is in no block after {patience:g} s")
            time.sleep(_POLL_INTERVAL)
    for digest, receipt in receipts.items():
        if receipt["status"] != "0x1":
            raise BenchError(f"{node.name}: transaction {digest} failed: status {receipt['status']}")
    return [receipts[transaction.hash] for transaction in transactions]


def _together(node: BenchNode, transactions: Sequence[SignedTransaction]) -> int:
    """Return the number of the one block that has exactly these transactions."""
    receipts = included(node, transactions)
    numbers = {int(receipt["blockNumber"], 16) for receipt in receipts}
    block = node.call("eth_getBlockByNumber", hex(max(numbers)), False)
    if len(numbers) > 1 or block["transactions"] != [transaction.hash for transaction in transactions]:
        raise BenchError(
            f"{node.name}: {len(transactions)} transfers that were sent together are in {len(numbers)} blocks, or with "
            "others: start it so that it makes blocks when told (evm_mine), or when there is something to include"
        )
    return max(numbers)


def _has_code(node: BenchNode, contents: ChainContent) -> None:
    if node.call("eth_getCode", "0x" + contents.token.hex(), "latest") == "0x":
        raise BenchError(f"{node.name}: the token is not where the rules of creation put it")


def _chunks(items: Sequence[SignedTransaction]) -> Iterator[Sequence[SignedTransaction]]:
    for start in range(0, len(items), _CHUNK_SIZE):
        yield items[start : start + _CHUNK_SIZE]
