"""A reader of the feed, and what it was told."""

import asyncio
import hashlib
import random
from typing import Any, NamedTuple

import orjson

from foreseal.client import AsyncClient, Event, Flashblock, Options, Place, Receipt, StepRemoved

# One event in so many ends the reader's process, as far as the node can tell: it begins anew with its cursor alone.
REOPENED = 2000
# At one in so many it is busy with something else, for so many seconds at most.
PAUSED, PAUSE = 100, 4.0


class Told(NamedTuple):
    """A step as a reader was told of it."""

    place: Place
    parent: str
    transactions: tuple[tuple[str, bytes], ...]
    """Hash of each, and `digest` of its logs."""


def digest(logs: list[tuple[Any, ...]]) -> bytes:
    """What tells two lists of logs apart: each with its index in the block, address, topics and data."""
    return hashlib.blake2b(orjson.dumps(logs), digest_size=16).digest()


def logs_of(receipt: Receipt) -> list[tuple[Any, ...]]:
    """The logs of a receipt as `digest` takes them."""
    return [(log.log_index, log.address, log.topics, log.data) for log in receipt.logs]


def told(flashblock: Flashblock) -> Told:
    """The step of an event. Raises ValueError if its parts do not fit together."""
    pairs = zip(flashblock.transactions, flashblock.receipts, strict=True)
    entries = []
    for transaction, receipt in pairs:
        if (receipt.transaction_hash, receipt.block_hash) != (transaction.hash, flashblock.hash):
            raise ValueError(f"receipt of {receipt.transaction_hash} beside {transaction.hash}")
        if any((log.transaction_hash, log.block_hash) != (transaction.hash, flashblock.hash) for log in receipt.logs):
            raise ValueError(f"a log of {transaction.hash} is of something else")
        entries.append((transaction.hash, digest(logs_of(receipt))))
    if flashblock.header.hash != flashblock.hash:
        raise ValueError(f"the header of {flashblock.place} has another hash")
    return Told(flashblock.place, flashblock.parent, tuple(entries))


class Reader:
    """Follows the feed from one place, over connections that break, and holds what it makes of the events."""

    def __init__(self, name: str, url: str, begin: Place, rng: random.Random, options: Options) -> None:
        self.name = name
        self.begin = begin
        self.chain: list[Told] = []
        """The steps behind `begin` that were added and not removed."""
        self.faults: list[str] = []
        self.added = self.removed = self.transactions = self.logs = 0
        self.connections = self.lags = self.reopened = 0
        self._url = url
        self._rng = rng
        self._options = options

    @property
    def place(self) -> Place:
        """Of the newest step."""
        return self.chain[-1].place if self.chain else self.begin

    @property
    def events(self) -> int:
        """Steps, transactions and logs that were told, undone ones as well."""
        return self.added + self.removed + self.transactions + self.logs

    async def run(self) -> None:
        """Read until cancelled."""
        saved = self.begin
        while True:
            async with AsyncClient(self._url, self._options) as client, client.feed(saved) as feed:
                try:
                    async for event in feed:
                        self._take(event)
                        # As it would be read back from wherever it was saved.
                        saved = Place.read(orjson.loads(orjson.dumps(event.place.to_json())))
                        if self._rng.randrange(PAUSED) == 0:
                            await asyncio.sleep(self._rng.uniform(0, PAUSE))
                        if self._rng.randrange(REOPENED) == 0:
                            self.reopened += 1
                            break
                finally:
                    self.connections += feed.connections
                    self.lags += feed.lags

    def _take(self, event: Event) -> None:
        flashblock = event.flashblock
        self.transactions += len(flashblock.transactions)
        self.logs += sum(len(receipt.logs) for receipt in flashblock.receipts)
        try:
            step = told(flashblock)
        except ValueError as error:
            self.faults.append(f"{self.name}: {error}")
            return
        if isinstance(event, StepRemoved):
            self.removed += 1
            # What is undone must be the newest step, with all that was told of it.
            if not self.chain or self.chain.pop() != step:
                self.faults.append(f"{self.name}: {step.place} is undone, and is not the newest step as it was told")
        else:
            self.added += 1
            if step.parent != self.place.hash:
                self.faults.append(f"{self.name}: {step.place} does not follow {self.place}")
            self.chain.append(step)
        if event.place != self.place:
            self.faults.append(f"{self.name}: the cursor is {event.place}, the newest step {self.place}")
