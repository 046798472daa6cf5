"""All data that the clients of a node ever read as pre-confirmed."""

import hashlib
import json
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

Position = tuple[int, int]
"""Number of a block and index of a step in it."""

# Number of blocks that are compared at once.
_PART = 20
_END = sys.maxsize
"""Index of a block's data after all its steps."""


class Step(NamedTuple):
    """A pending block read by a client."""

    hash: str
    transactions: tuple[str, ...]


class PendingRead(NamedTuple):
    """A pending block read alone: its header names a step that is not newer than the block."""

    minimum: Position
    transactions: tuple[str, ...]


class ReceiptPosition(NamedTuple):
    """Position of a transaction according to its receipt; `digest` covers all fields that sealing does not change."""

    number: int
    transaction_index: int
    block_hash: str
    digest: str


class Record:
    """The record, written by many threads; `after` returns a part of it. `faults` describes broken guarantees."""

    def __init__(self) -> None:
        self.steps: dict[Position, Step] = {}
        self.receipts: dict[Position, str] = {}
        """Digest of the receipts of a step."""
        self.answers: dict[str, PendingRead] = {}
        """Pending blocks by block hash."""
        self.receipt_positions: dict[str, ReceiptPosition] = {}
        """Receipts by transaction hash."""
        self.sealed: dict[int, str] = {}
        """Hash of the sealed block, by number."""
        self.newest: Position = (0, 0)
        self.faults: list[str] = []
        self.counts: Counter[str] = Counter()
        # Field, key and position of each entry, by block number: the cost of `after` depends only on its result.
        self._by_block: defaultdict[int, dict[tuple[str, Any], Position]] = defaultdict(dict)
        self._lock = threading.Lock()

    def saw_step(self, status: dict[str, Any], block: dict[str, Any], receipts: list[dict[str, Any]]) -> None:
        """Record status, pending block and its receipts, from one batch and therefore from one view."""
        position = int(status["block"], 16), int(status["index"], 16)
        step = Step(block["hash"], _names(block))
        digest = digest_of(receipts)
        with self._lock:
            if (status["block"], status["hash"]) != (block["number"], block["hash"]):
                self._fault("mixed", f"status {status} and block {block['number']} {step.hash} are of two views")
            if tuple(receipt["transactionHash"] for receipt in receipts) != step.transactions:
                self._fault("mixed", f"receipts and transactions of {position} are of two views")
            self._store_same("steps", position, step, position)
            self._store_same("receipts", position, digest, position)
            self._reached(position)
            self._seal(int(status["latest"], 16), block["parentHash"])

    def saw_answer(self, at_least: Position, block: dict[str, Any]) -> None:
        """Record a pending block, read alone, and the position in the header of that response."""
        number = int(block["number"], 16)
        with self._lock:
            if number < at_least[0]:
                self._fault("mixed", f"the header names {at_least}, the answer is block {number}")
            bound = max(at_least, (number, 0))
            known = self.answers.get(block["hash"])
            if known is not None:
                bound = max(bound, known.minimum)
            self._store("answers", block["hash"], PendingRead(bound, _names(block)), bound)
            self._reached(bound)

    def saw_receipt(self, receipt: dict[str, Any]) -> None:
        """Record the receipt of one transaction."""
        place = position_of(receipt)
        with self._lock:
            known = self.receipt_positions.get(receipt["transactionHash"])
            if known is not None and known._replace(block_hash="") != place._replace(block_hash=""):
                self._fault("changed", f"receipt of {receipt['transactionHash']}: {known}, then {place}")
            self._store("receipt_positions", receipt["transactionHash"], place, (place.number, _END))

    def fault(self, kind: str, what: str) -> None:
        """Record a broken guarantee; kinds are counted."""
        with self._lock:
            self._fault(kind, what)

    def chunks(self, blocks: int) -> Iterator["Record"]:
        """Yield the records of this many blocks before the newest, in small groups, oldest first.

        A node drops the steps of old blocks: querying all blocks at once takes so long that the last ones are gone.
        """
        last = self.newest[0]
        for number in range(max(last - blocks, 0), last + 1, _PART):
            yield self.after((number, 0), number + _PART if number + _PART <= last else None)

    def after(self, position: Position, until: int | None = None) -> "Record":
        """Return the part of the record from this position on, and of blocks before `until`."""
        part = Record()
        with self._lock:
            part.newest = self.newest
            for number in range(position[0], until or max(self._by_block, default=-1) + 1):
                for (field, key), place in self._by_block.get(number, {}).items():
                    if place >= position:
                        part._store(field, key, getattr(self, field)[key], place)
        return part

    def _store(self, field: str, key: Any, value: Any, place: Position) -> None:
        getattr(self, field)[key] = value
        self._by_block[place[0]][field, key] = place

    def _store_same(self, field: str, key: Any, value: Any, place: Position) -> None:
        known = getattr(self, field).get(key)
        if known is None:
            self._store(field, key, value, place)
        elif known != value:
            self._fault("changed", f"{field} of {key}: {known}, then {value}")

    def _reached(self, position: Position) -> None:
        self.newest = max(self.newest, position)

    def _seal(self, number: int, name: str) -> None:
        self._store_same("sealed", number, name, (number, _END))

    def _fault(self, kind: str, what: str) -> None:
        self.counts[kind] += 1
        self.faults.append(f"{kind}: {what}")


def _names(block: dict[str, Any]) -> tuple[str, ...]:
    """Return the block's transactions. Each is in many steps, so the hashes are interned."""
    return tuple(map(sys.intern, block["transactions"]))


def position_of(receipt: dict[str, Any]) -> ReceiptPosition:
    """Return the position of a receipt. A later step has another hash; no other field of a receipt may change."""
    lasting = {name: value for name, value in receipt.items() if name not in ("blockHash", "logs")}
    logs = [{name: value for name, value in log.items() if name != "blockHash"} for log in receipt["logs"]]
    digest = digest_of([lasting, logs])
    return ReceiptPosition(
        int(receipt["blockNumber"], 16), int(receipt["transactionIndex"], 16), receipt["blockHash"], digest
    )


def digest_of(value: Any) -> str:
    """Return a short digest of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
