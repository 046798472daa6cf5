"""Reads of what strangers write: each falls back to smaller reads, and names what cannot be read.

```text
logs      range -- rejected or too large --> halves --> one block --> pages of foreseal_getLogs --> the block is unread
receipts  batch -- rejected or too large --> each alone --> the transaction is unread
```

Transfers below the minimum are counted and dropped as they are read: anybody can send them, and none pays an order.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from foreseal.payments.chain import (
    ChainError,
    ChainLog,
    ChainNode,
    ChainReceipt,
    Incomplete,
    LogFilter,
    NodeUnavailable,
    NoResponse,
    RejectedByNode,
    RequestBatch,
    node_requests,
)
from foreseal.payments.chain.token import TRANSFERRED, address_topic, log_amount
from foreseal.payments.transfers.settings import WatcherSettings

UNREAD = (RejectedByNode, Incomplete)
"""Errors of a read whose result the node does not return, or returns incomplete."""
# Blocks of one read that may be unread.
_MAX_UNREAD = 16


def _always(_: int) -> bool:
    return True


@dataclass(slots=True)
class FoundLogs:
    """Transfer logs of a range."""

    logs: list[ChainLog] = field(default_factory=list)
    ignored: int = 0
    """Number of transfers below the minimum."""
    unread: dict[int, str] = field(default_factory=dict)
    """Reasons by the numbers of the blocks that could not be read."""

    def merge(self, other: "FoundLogs") -> None:
        """Add what another read found."""
        self.logs += other.logs
        self.ignored += other.ignored
        self.unread |= other.unread


class LogReader:
    """Reader of the logs of transfers to the merchant."""

    def __init__(self, node: Callable[[], ChainNode], watch: WatcherSettings) -> None:
        """Set up the reader. `node` returns the node for one read."""
        self._node = node
        self._watch = watch
        contract = watch.batch_capture
        # The sum that a batch forwards includes what it received, however small.
        self._counted = frozenset() if contract is None else frozenset((address_topic(contract),))

    def filter(self, first: int | str, last: int | str) -> LogFilter:
        """Return the filter of the transfers in an inclusive range."""
        topics = ((TRANSFERRED,), None, tuple(address_topic(each) for each in self._watch.recipients))
        return LogFilter(self._watch.token, topics, first, last)

    def pending(self) -> list[ChainLog]:
        """Return the pre-confirmed logs. Raises the node's errors."""
        collected = FoundLogs()
        self._add(collected, self._node().logs(self.filter("pending", "pending")))
        return collected.logs

    def read(
        self, first: int, last: int, skipped: Collection[int] = (), is_new: Callable[[int], bool] = _always
    ) -> FoundLogs:
        """Return the logs of a range of blocks without `skipped`. In blocks that are new, ignored transfers count.

        Raises `NoResponse`, and other errors of the node if it rejects many blocks.
        """
        collected = FoundLogs()
        self._read(collected, (first, last), skipped, is_new)
        return collected

    def _read(
        self, collected: FoundLogs, blocks: tuple[int, int], skipped: Collection[int], is_new: Callable[[int], bool]
    ) -> None:
        first, last = blocks
        if first > last:
            return
        gap = next((number for number in skipped if first <= number <= last), None)
        if gap is not None:
            self._read(collected, (first, gap - 1), skipped, is_new)
            self._read(collected, (gap + 1, last), skipped, is_new)
            return
        try:
            self._add(collected, self._node().logs(self.filter(first, last)), is_new)
        except UNREAD as error:
            if first == last:
                self._read_pages(collected, first, error, is_new)
                return
            middle = (first + last) // 2
            self._read(collected, (first, middle), skipped, is_new)
            self._read(collected, (middle + 1, last), skipped, is_new)

    def _read_pages(self, collected: FoundLogs, number: int, error: ChainError, is_new: Callable[[int], bool]) -> None:
        """Read one block in pages. Nodes without the method leave it unread, with the error of the first attempt."""
        of_block = FoundLogs()
        cursor: str | None = None
        try:
            while True:
                page = self._node().execute(node_requests.log_page(self.filter(number, number), cursor))
                self._add(of_block, page.logs, is_new)
                cursor = page.cursor
                if cursor is None:
                    break
        except UNREAD:
            if len(collected.unread) >= _MAX_UNREAD:
                raise error from None
            # A node that rejects a query without results has another problem than their size.
            self._node().logs(LogFilter(self._watch.token, ((bytes(32),),), number, number))
            collected.unread[number] = str(error)
            return
        collected.merge(of_block)

    def _add(self, collected: FoundLogs, logs: Iterable[ChainLog], is_new: Callable[[int], bool] = _always) -> None:
        for log in logs:
            if log_amount(log) >= self._watch.min_transfer or self._counted & {*log.topics[1:]}:
                collected.logs.append(log)
            elif is_new(log.block_number):
                collected.ignored += 1


@dataclass(frozen=True, slots=True)
class FoundReceipts:
    """Receipts by transaction hash; None if the transaction is not on the chain."""

    receipts: Mapping[str, ChainReceipt | None]
    unread: Mapping[str, str]
    """Reasons by the hashes of the transactions whose receipts could not be read."""


def read_receipts(node: Callable[[], ChainNode], hashes: Iterable[str]) -> FoundReceipts:
    """Read receipts in one batch, and each that failed alone. Raises `NoResponse` if the node does not respond at all.

    A single receipt without a response is unread if the node responds to another call.
    """
    batch = RequestBatch()
    answers = {hash: batch.add(node_requests.receipt(hash)) for hash in hashes}
    batch.execute(node())
    receipts: dict[str, ChainReceipt | None] = {}
    unread: dict[str, str] = {}
    for hash, answer in answers.items():
        try:
            receipts[hash] = answer.result()
        except UNREAD as error:
            reason = str(error) if len(answers) == 1 else _read_alone(node, hash, receipts)
            if reason is not None:
                unread[hash] = reason
    return FoundReceipts(receipts, unread)


def _read_alone(node: Callable[[], ChainNode], hash: str, receipts: dict[str, ChainReceipt | None]) -> str | None:
    """Add one receipt. Return the reason if it cannot be read."""
    try:
        receipts[hash] = node().receipt(hash)
    except UNREAD as error:
        return str(error)
    except NodeUnavailable:
        raise
    except NoResponse as error:
        node().head("latest")
        return str(error)
    return None
