"""A reader of the feed, and its received events."""

import asyncio
import hashlib
import random
from typing import Any, NamedTuple

import orjson

from foreseal.client import AsyncClient, Cursor, Event, Flashblock, Options, Receipt, StepRemoved

# One event in this many ends the reader's process from the node's view: it restarts from its cursor.
REOPENED = 2000
# One event in this many is followed by a pause, of at most this many seconds.
PAUSED, PAUSE = 100, 4.0


class ReceivedStep(NamedTuple):
    """A step received by a reader."""

    cursor: Cursor
    parent: str
    transactions: tuple[tuple[str, bytes], ...]
    """Hash of each, and `digest` of its logs."""


def digest(logs: list[tuple[Any, ...]]) -> bytes:
    """Return a digest of logs: index in the block, address, topics and data of each."""
    return hashlib.blake2b(orjson.dumps(logs), digest_size=16).digest()


def logs_of(receipt: Receipt) -> list[tuple[Any, ...]]:
    """Return the logs of a receipt in the form for `digest`."""
    return [(log.log_index, log.address, log.topics, log.data) for log in receipt.logs]


def received_step(flashblock: Flashblock) -> ReceivedStep:
    """Return the step of an event. Raise ValueError if its parts are inconsistent."""
    pairs = zip(flashblock.transactions, flashblock.receipts, strict=True)
    entries = []
    for transaction, receipt in pairs:
        if (receipt.transaction_hash, receipt.block_hash) != (transaction.hash, flashblock.hash):
            raise ValueError(f"receipt of {receipt.transaction_hash} beside {transaction.hash}")
        if any((log.transaction_hash, log.block_hash) != (transaction.hash, flashblock.hash) for log in receipt.logs):
            raise ValueError(f"a log of {transaction.hash} is of something else")
        entries.append((transaction.hash, digest(logs_of(receipt))))
    if flashblock.header.hash != flashblock.hash:
        raise ValueError(f"the header of {flashblock.cursor} has another hash")
    return ReceivedStep(flashblock.cursor, flashblock.parent, tuple(entries))


class Reader:
    """Follows the feed from one cursor over failing connections, and maintains the chain according to its events."""

    def __init__(self, name: str, url: str, begin: Cursor, rng: random.Random, options: Options) -> None:
        self.name = name
        self.begin = begin
        self.chain: list[ReceivedStep] = []
        """The steps after `begin` that were added and not removed."""
        self.faults: list[str] = []
        self.added = self.removed = self.transactions = self.logs = 0
        self.connections = self.lags = self.reopened = 0
        self._url = url
        self._rng = rng
        self._options = options

    @property
    def cursor(self) -> Cursor:
        """Cursor of the newest step."""
        return self.chain[-1].cursor if self.chain else self.begin

    @property
    def events(self) -> int:
        """Received steps, transactions and logs, including reorged ones."""
        return self.added + self.removed + self.transactions + self.logs

    async def run(self) -> None:
        """Read until cancelled."""
        saved = self.begin
        while True:
            async with AsyncClient(self._url, self._options) as client, client.feed(saved) as feed:
                try:
                    async for event in feed:
                        self._apply(event)
                        # A JSON round trip simulates storage of the cursor.
                        saved = Cursor.read(orjson.loads(orjson.dumps(event.cursor.to_json())))
                        if self._rng.randrange(PAUSED) == 0:
                            await asyncio.sleep(self._rng.uniform(0, PAUSE))
                        if self._rng.randrange(REOPENED) == 0:
                            self.reopened += 1
                            break
                finally:
                    self.connections += feed.connections
                    self.lags += feed.lags

    def _apply(self, event: Event) -> None:
        flashblock = event.flashblock
        self.transactions += len(flashblock.transactions)
        self.logs += sum(len(receipt.logs) for receipt in flashblock.receipts)
        try:
            step = received_step(flashblock)
        except ValueError as error:
            self.faults.append(f"{self.name}: {error}")
            return
        if isinstance(event, StepRemoved):
            self.removed += 1
            # A reorged step must be the newest one, with all of its received data.
            if not self.chain or self.chain.pop() != step:
                self.faults.append(f"{self.name}: {step.cursor} is undone, and is not the newest step as it was told")
        else:
            self.added += 1
            if step.parent != self.cursor.hash:
                self.faults.append(f"{self.name}: {step.cursor} does not follow {self.cursor}")
            self.chain.append(step)
        if event.cursor != self.cursor:
            self.faults.append(f"{self.name}: the cursor is {event.cursor}, the newest step {self.cursor}")
