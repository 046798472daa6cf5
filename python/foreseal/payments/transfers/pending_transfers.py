"""Pre-confirmed transfers between two blocks: a poll handles only the logs that `pending` gained since the last one.

A complete scan by `TransferWatcher` sets the starting point. Anything else than growth, such as a new block, a vanished
log, or a cursor that another watcher moved, leaves the poll to a complete scan.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from foreseal.payments.chain import ChainLog, ChainNode, Heads, LogFilter, RequestBatch, Transfer, node_requests
from foreseal.payments.chain.answers import read_object
from foreseal.payments.ledger import Ledger
from foreseal.payments.transactions import classify_finality
from foreseal.payments.transfers.bounded_reads import read_receipts
from foreseal.payments.transfers.incoming import incoming
from foreseal.payments.transfers.matching import record_transfers
from foreseal.payments.transfers.observed_transfer import ObservedTransfer
from foreseal.payments.transfers.settings import WatcherSettings

LogKey = tuple[str, str]
"""Transaction hash and log index of a pending log, as the node writes them."""


@dataclass(frozen=True, slots=True)
class PendingGrowth:
    """Transfers that `pending` gained."""

    keys: frozenset[LogKey]
    """All logs of `pending`, those that were handled before included."""
    transfers: tuple[Transfer, ...]


class PendingTransfers:
    """Logs of `pending` that are recorded, as of one chain of sealed blocks."""

    def __init__(self, node: ChainNode, watch: WatcherSettings, log_filter: LogFilter) -> None:
        """Set up without a starting point. `log_filter` selects the transfers in `pending`."""
        self._node = node
        self._watch = watch
        self._filter = log_filter
        self._heads: Heads | None = None
        self._tip = ""
        self._keys: frozenset[LogKey] = frozenset()

    def restart(self, newest: Heads, tip: str, logs: Collection[ChainLog]) -> None:
        """Set the starting point: the heads, the hash of the latest block, and the logs that a scan recorded."""
        self._heads = newest
        self._tip = tip
        self._keys = frozenset((log.transaction_hash, hex(log.log_index)) for log in logs)

    def forget(self) -> None:
        """Drop the starting point, so that the next poll is a complete scan."""
        self._heads = None

    def read(self) -> PendingGrowth | None:
        """Return what `pending` gained since the starting point; None if that needs a complete scan.

        Raises the node's errors.
        """
        if self._heads is None:
            return None
        batch = RequestBatch()
        # Read before the newest block, so a block sealed in between cannot hide a pre-confirmed transfer.
        pending = batch.add(node_requests.raw_logs(self._filter))
        heads = [batch.add(node_requests.head(tag)) for tag in ("finalized", "safe", "latest")]
        batch.execute(self._node)
        final, safe, latest = (head.result() for head in heads)
        numbers = Heads(*(-1 if head is None else head.number for head in (latest, safe, final)))
        if latest is None or numbers != self._heads or latest.hash != self._tip:
            return None
        logs = {_key(log): log for log in pending.result()}
        if not self._keys <= logs.keys():
            return None
        fresh = [log for key, log in logs.items() if key not in self._keys and _amount(log) >= self._watch.min_transfer]
        gained = self._transfers(fresh, latest.number)
        return None if gained is None else PendingGrowth(frozenset(logs), gained)

    def record(self, ledger: Ledger, tx: Connection, growth: PendingGrowth) -> None:
        """Record the gained transfers in the caller's transaction."""
        assert self._heads is not None
        observed = []
        for transfer in sorted(growth.transfers, key=lambda each: (each.log.block_number, each.log.log_index)):
            step = classify_finality(self._watch.policy, transfer.log.block_number, self._heads)
            observed.append(ObservedTransfer(self._watch.chain_id, transfer, step, self._watch.batch_capture))
        record_transfers(ledger, tx, observed)

    def advance(self, growth: PendingGrowth) -> None:
        """Move the starting point after the commit."""
        self._keys = growth.keys

    def _transfers(self, fresh: Collection[Mapping[str, object]], latest: int) -> tuple[Transfer, ...] | None:
        """Return the transfers of new logs, from their receipts.

        None if the chain changed in between, or if a receipt cannot be read: a complete scan sets it aside.
        """
        read = read_receipts(lambda: self._node, dict.fromkeys(_key(log)[0] for log in fresh))
        if read.unread:
            return None
        arrived: list[Transfer] = []
        for receipt in read.receipts.values():
            if receipt is None or receipt.block_number <= latest:
                return None
            arrived += incoming(receipt, self._watch)
        return tuple(arrived)


def _key(log: Mapping[str, Any]) -> LogKey:
    with read_object("eth_getLogs"):
        return log["transactionHash"].lower(), log["logIndex"].lower()


def _amount(log: Mapping[str, Any]) -> int:
    with read_object("eth_getLogs"):
        return int(log["data"][:66], 16)
