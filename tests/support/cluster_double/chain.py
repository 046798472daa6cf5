"""Chain and pool of the double: steps are messages of the feed, and nothing is executed."""

import json
import threading
import time
from typing import Any

from foreseal.codec import keccak

STEPS_OF_BLOCK = 5
_MAX_TRANSACTIONS = 500
GENESIS_HASH = "0x" + "11" * 32

Message = dict[str, Any]


class DoubleChain:
    """Steps in order, and transactions that wait. Safe for several threads."""

    def __init__(self) -> None:
        self.steps: list[Message] = []
        self.changed = time.monotonic()
        """Time at which a step or a sign of life of the owner last came."""
        self.epoch = 0
        self._lock = threading.Lock()
        self._pool: dict[str, str] = {}
        self._included: set[str] = set()

    def add(self, step: Message) -> None:
        """Append a step."""
        with self._lock:
            self.steps.append(step)
            for transaction in step["transactions"]:
                self._included.add(transaction["hash"])
                self._pool.pop(transaction["hash"], None)
        self.changed = time.monotonic()

    def submit(self, raw: str) -> str:
        """Put a transaction into the pool, unless it is in a step, and return its hash."""
        hash = "0x" + keccak(bytes.fromhex(raw[2:])).hex()
        with self._lock:
            if hash not in self._included:
                self._pool[hash] = raw
        return hash

    def draft(self) -> Message:
        """Return the next step, with the transactions of the pool."""
        with self._lock:
            transactions = [{"hash": hash} for hash in list(self._pool)[:_MAX_TRANSACTIONS]]
            previous = self.steps[-1]["hash"] if self.steps else GENESIS_HASH
            count = len(self.steps)
        number, index = 1 + count // STEPS_OF_BLOCK, count % STEPS_OF_BLOCK
        step: Message = {
            "number": hex(number),
            "index": hex(index),
            "parent": previous,
            "time": hex(time.time_ns() // 10**6),
            "signature": None,
            "transactions": transactions,
            "removed": False,
        }
        return step | {"hash": "0x" + keccak(json.dumps(step).encode()).hex()}

    def page(self, cursor: Message | None, limit: int) -> Message:
        """Return the result of `foreseal_getFlashblocks`. Raises LookupError for an unknown cursor."""
        with self._lock:
            count = len(self.steps)
            begin = count if cursor is None else self._position(cursor)
            steps = self.steps[begin : begin + limit]
            end = begin + len(steps)
            last = self.steps[end - 1] if end else {"number": "0x0", "index": "0x0", "hash": GENESIS_HASH}
            cursor = {"block": last["number"], "index": last["index"], "hash": last["hash"]}
            return {"flashblocks": steps, "cursor": cursor, "complete": end == count}

    def block(self, number: int) -> Message | None:
        """Return a sealed block."""
        if number == 0:
            return {"number": "0x0", "hash": GENESIS_HASH}
        if number > self.sealed():
            return None
        return {"number": hex(number), "hash": self.steps[number * STEPS_OF_BLOCK - 1]["hash"]}

    def sealed(self) -> int:
        """Return the number of the newest sealed block."""
        return len(self.steps) // STEPS_OF_BLOCK

    def _position(self, cursor: Message) -> int:
        """Return the number of steps up to a cursor."""
        number, index = int(cursor["block"], 16), int(cursor["index"], 16)
        if number == 0:
            return 0
        at = (number - 1) * STEPS_OF_BLOCK + index
        if at >= len(self.steps) or self.steps[at]["hash"] != cursor["hash"]:
            raise LookupError("the step of the cursor is no longer available")
        return at + 1
