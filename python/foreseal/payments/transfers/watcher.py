"""Watcher of all transfers of a token to the merchant.

```text
cursors: number and hash of the last blocks of earlier scans; up to the newest cursor whose hash
        |                                    is still on the chain, nothing changed
        v
window from there, or from `overlap` below the newest cursor, in ranges under 2,000 blocks; the last includes `pending`
        |
        v
one database transaction per range: rows that vanished are deleted (their orders reopen), rows
that exist are recorded (matched to orders, or added to `unmatched_transfers`), what the node does
not return is set aside (to be read again after growing pauses), the cursor advances
```

Subscriptions only wake the watcher. The source of truth is eth_getLogs.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, or_, select

from foreseal.payments.chain import (
    BlockHead,
    ChainLog,
    ChainNode,
    ChainReorganized,
    Heads,
    RequestBatch,
    Transfer,
    heads,
    node_requests,
)
from foreseal.payments.chain.token import log_amount, topic_address
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import REVERSIBLE, ConcurrentUpdate, Finality, Ledger, StatusStep, ensure
from foreseal.payments.ledger.models import CursorRecord, TransferRecord
from foreseal.payments.ledger.queries import ColumnValues, fetch_all, fetch_one_or_none
from foreseal.payments.stop_signal import StopSignal
from foreseal.payments.transactions import classify_finality
from foreseal.payments.transfers.bounded_reads import FoundLogs, LogReader, read_receipts
from foreseal.payments.transfers.incoming import incoming, without_forwards
from foreseal.payments.transfers.matching import move_transfers, record_transfers, remove_transfer
from foreseal.payments.transfers.observed_transfer import ObservedTransfer, TransferKey
from foreseal.payments.transfers.pending_transfers import PendingTransfers
from foreseal.payments.transfers.set_aside import SetAside, SetAsideStore, UnreadKey
from foreseal.payments.transfers.settings import WatcherSettings

log = logging.getLogger(__name__)

# Logs of a range of several blocks.
_MAX_RANGE_LOGS = 2_000

OnProgress = Callable[[int, int], None]
"""Callback after each range, with the last block read and the newest block."""


@dataclass(frozen=True, slots=True)
class _BlockRange:
    """A range of blocks, read while the chain did not change."""

    first: int
    end: BlockHead
    newest: Heads
    anchor: int
    """Number of the newest cursor that is on the chain."""
    cursor: tuple[int, str]
    """Newest cursor: number and hash."""
    stored_rows: Sequence[TransferRecord]
    """Stored rows of these blocks, and rows below whose block is no longer on the chain."""
    older: Sequence[TransferRecord]
    """Rows below the range whose step must change."""
    transfers: "_FoundTransfers"
    """Transfers on the chain in these blocks. The last range includes pre-confirmed ones."""
    pending: Sequence[ChainLog]
    """Pre-confirmed logs, in the last range."""
    set_aside: SetAside
    """Rows of the table `set_aside` before the range."""
    unread: Mapping[UnreadKey, str]
    """Reasons by what could not be read in the range, or at another attempt."""
    ignored: int
    """Number of transfers below the minimum in blocks above the cursor."""

    @property
    def last(self) -> bool:
        """True if no block is above the range."""
        return self.end.number == self.newest.latest

    def is_unread(self, row: TransferRecord) -> bool:
        """Return True if nothing is known about a row: its block or transaction was not read."""
        return any(
            number == row.block_number if not hash else hash == row.transaction_hash
            for number, hash in (*self.unread, *self.set_aside.rows)
            if (number, hash) in self.unread or (number, hash) != self.set_aside.retried
        )


@dataclass(frozen=True, slots=True)
class _FoundTransfers:
    """Transfers on the chain, compared with the stored rows."""

    unchanged: Sequence[TransferRecord]
    """Rows of transfers that are where they were; their step may change."""
    changed: Sequence[Transfer]
    """New transfers, and those with another position."""

    def keys(self) -> set[TransferKey]:
        """Return the keys of all."""
        return {(row.transaction_hash, row.position) for row in self.unchanged} | {
            (transfer.log.transaction_hash, transfer.position) for transfer in self.changed
        }


class TransferWatcher:
    """Watcher that keeps the rows of transfers equal to the chain.

    Several may run on one database; for each range, one of them succeeds.
    """

    def __init__(
        self,
        ledger: Ledger,
        node: ChainNode,
        watch: WatcherSettings,
        progressed: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> None:
        """Set up the watcher. `stop` ends its reads."""
        self._stop = stop or StopSignal()
        self._ledger = ledger
        self._established = False
        # Cursor after this watcher's last complete scan. Until the chain has a new block, only `pending` has news.
        self._tip: tuple[int, str] | None = None
        # Number of rows that are not final after the last poll.
        self._recorded = 0
        self._chain_node = node
        self._watch = watch
        self._reader = LogReader(lambda: self._node, watch)
        self._aside = SetAsideStore(watch)
        self._due: int | None = None
        self.ignored = 0
        """Number of transfers below the minimum that were read."""
        self.set_aside = 0
        """Number of transactions and blocks that are set aside."""
        self._pending = PendingTransfers(node, watch, self._reader.filter("pending", "pending"))
        self._progressed = progressed
        self._mine = and_(
            CursorRecord.chain_id == watch.chain_id,
            CursorRecord.token == watch.token,
            CursorRecord.recipient == watch.cursor_key,
        )
        self._ours = and_(
            TransferRecord.chain_id == watch.chain_id,
            TransferRecord.token == watch.token,
            TransferRecord.recipient.in_(watch.recipients),
            TransferRecord.amount >= watch.min_transfer,
        )

    @property
    def _node(self) -> ChainNode:
        """The node, for one read. Raises `WorkStopped` after a stop."""
        self._stop.check()
        return self._chain_node

    def poll(self) -> None:
        """Catch up with the chain, including pre-confirmed transfers.

        Ranges stored before an error persist, and the next call continues after them. Raises `ChainReorganized` if the
        chain was reorganized during a range, `ConcurrentUpdate` if another watcher is active, `FinalityBroken`,
        `WorkStopped` before a range or between two reads of one, and the node's errors.
        """
        self._stop.check()
        self._establish()
        if self._poll_pending():
            return
        again = True
        while True:
            block_range = self._read(again)
            self._ledger.passed(CrashPoint.WINDOW_READ)
            # After a power loss, the range is read again.
            with self._ledger.database.transaction(durable=False) as tx:
                self._replace(tx, block_range)
                self._aside.save(tx, block_range.set_aside, block_range.unread, self._ledger.clock())
                recorded = self._count(tx)
                self._ledger.passed(CrashPoint.WINDOW_REPLACED)
            self.ignored += block_range.ignored
            _log_unread(block_range)
            self._ledger.passed(CrashPoint.WINDOW_STORED)
            if self._progressed is not None:
                self._progressed(block_range.end.number, block_range.newest.latest)
            if block_range.last:
                self._tip = (block_range.end.number, block_range.end.hash)
                self._recorded = recorded
                self._count_set_aside()
                self._pending.restart(block_range.newest, block_range.end.hash, block_range.pending)
                return
            again = False

    def _poll_pending(self) -> bool:
        """Record the transfers that `pending` gained. Return False if a complete scan is needed."""
        growth = self._pending.read()
        if growth is None or self._tip is None or self._is_retry_due() or not self._is_recorded():
            self._pending.forget()
            return False
        if growth.transfers:
            self._ledger.passed(CrashPoint.WINDOW_READ)
            with self._ledger.database.transaction(durable=False) as tx:
                self._require_cursor(tx, self._tip)
                self._pending.record(self._ledger, tx, growth)
                recorded = self._count(tx)
                self._ledger.passed(CrashPoint.WINDOW_REPLACED)
            self._recorded = recorded
            self._ledger.passed(CrashPoint.WINDOW_STORED)
        self._pending.advance(growth)
        return True

    def _is_retry_due(self) -> bool:
        """Return True if what is set aside is to be read again."""
        return self._due is not None and self._due <= self._ledger.clock()

    def _is_recorded(self) -> bool:
        """Return True if the rows that can change are those of this watcher's last poll."""
        with self._ledger.database.reading() as tx:
            return self._count(tx) == self._recorded

    def _count(self, tx: Connection) -> int:
        """Return the number of rows that are not final."""
        counting = select(func.count()).select_from(TransferRecord)
        return tx.execute(counting.where(self._ours, TransferRecord.step.in_(REVERSIBLE))).scalar_one()

    def _count_set_aside(self) -> None:
        with self._ledger.database.reading() as tx:
            rows = self._aside.load(tx, self._ledger.clock()).rows.values()
        self.set_aside, self._due = len(rows), min((row.due for row in rows), default=None)

    def _require_cursor(self, tx: Connection, cursor: tuple[int, str]) -> None:
        """Lock the cursors. Raise `ConcurrentUpdate` unless this is the newest."""
        query = select(CursorRecord).where(self._mine).order_by(CursorRecord.block_number.desc())
        rows = fetch_all(tx, query.with_for_update())
        if not rows or (rows[0].block_number, rows[0].block_hash) != cursor:
            self._pending.forget()
            raise ConcurrentUpdate("another watcher moved the cursor")

    def _establish(self) -> None:
        """Insert the cursor before the first block, which is valid on every chain."""
        if self._established:
            return
        before = self._watch.start - 1
        with self._ledger.database.transaction() as tx:
            if tx.execute(select(CursorRecord.block_number).where(self._mine).limit(1)).first() is None:
                ensure(tx, CursorRecord, self._cursor(before, ""))
        self._established = True

    def _read(self, again: bool) -> _BlockRange:
        """Read the next range. With `again`, start at least `overlap` below the newest cursor."""
        # Read before the newest block, so a block sealed in between cannot hide a pre-confirmed transfer.
        pending = self._reader.pending()
        newest = heads(self._node)
        tip = self._head(newest.latest)
        cursor, anchor = self._cursors()
        first = anchor + 1
        if again and not cursor == (tip.number, tip.hash) == self._tip:
            first = max(self._watch.start, min(first, cursor[0] - self._watch.overlap + 1))
        end = min(first + self._watch.widest - 1, newest.latest)
        with self._ledger.database.reading() as tx:
            aside = self._aside.load(tx, self._ledger.clock())
        end, read = self._read_logs(first, end, cursor[0], aside)
        last = end == newest.latest
        with self._ledger.database.reading() as tx:
            upper = [] if last else [TransferRecord.block_number <= end]
            stored_rows = fetch_all(
                tx, select(TransferRecord).where(self._ours, TransferRecord.block_number >= first, *upper)
            )
        retried = aside.retried_block()
        if retried is not None and retried < first:
            read.merge(self._reader.read(retried, retried))
        unsealed = [log for log in pending if log.block_number > newest.latest] if last else []
        unread: dict[UnreadKey, str] = {(number, ""): reason for number, reason in read.unread.items()}
        transfers = self._transfers([*read.logs, *unsealed], stored_rows, newest.latest, aside, unread)
        older, stale = self._older(first, newest)
        reached = self._head(end)
        if (reached if last else self._head(tip.number)).hash != tip.hash:
            raise ChainReorganized("the chain was reorganized during a read")
        rows = [*stored_rows, *stale]
        return _BlockRange(
            first, reached, newest, anchor, cursor, rows, older, transfers, unsealed, aside, unread, read.ignored
        )

    def _read_logs(self, first: int, end: int, cursor: int, aside: SetAside) -> tuple[int, FoundLogs]:
        """Return the logs from block `first` on, and the last block, at most `end`, that they are of.

        The rows of a range are one transaction of the database, and no other writes during it. So a range with many
        logs is halved.
        """
        retried = aside.retried_block()
        while True:
            read = self._reader.read(
                first, end, aside.skipped_blocks(), lambda number: number > cursor or number == retried
            )
            if len(read.logs) <= _MAX_RANGE_LOGS or end <= first:
                return end, read
            end = (first + end) // 2

    def _older(self, first: int, newest: Heads) -> tuple[list[TransferRecord], list[TransferRecord]]:
        """Return rows below a range whose step must change, and separately those from a reorganized chain.

        Receipts also create rows. A receipt may have been read before a reorganization and recorded after a scan.
        """
        reach = self._watch.policy.reach(newest)
        changing = or_(
            TransferRecord.block_number <= newest.finalized,
            and_(TransferRecord.step == Finality.PROVISIONAL, TransferRecord.block_number <= reach),
            and_(TransferRecord.step == Finality.CONFIRMED, TransferRecord.block_number > reach),
        )
        below = select(TransferRecord).where(
            self._ours, TransferRecord.block_number < first, TransferRecord.step.in_(REVERSIBLE), changing
        )
        with self._ledger.database.reading() as tx:
            older = fetch_all(tx, below.order_by(TransferRecord.order_id))
        settling = {row.block_number for row in older if row.block_number <= newest.finalized}
        hashes = self._hashes(settling)
        current: list[TransferRecord] = []
        stale: list[TransferRecord] = []
        for row in older:
            (current if hashes.get(row.block_number, row.block_hash) == row.block_hash else stale).append(row)
        return current, stale

    def _cursor(self, number: int, hash: str) -> ColumnValues:
        """Return the columns of a cursor."""
        return {
            CursorRecord.chain_id: self._watch.chain_id,
            CursorRecord.token: self._watch.token,
            CursorRecord.recipient: self._watch.cursor_key,
            CursorRecord.block_number: number,
            CursorRecord.block_hash: hash,
        }

    def _hashes(self, numbers: Collection[int]) -> dict[int, str]:
        """Return the hashes of blocks on the chain."""
        batch = RequestBatch()
        heads = {number: batch.add(node_requests.head(number)) for number in sorted(numbers)}
        batch.execute(self._node)
        return {number: self._existing(head.result(), number).hash for number, head in heads.items()}

    def _cursors(self) -> tuple[tuple[int, str], int]:
        """Return the newest cursor, and the number of the newest cursor that is on the chain."""
        with self._ledger.database.reading() as tx:
            stored_cursors = fetch_all(
                tx, select(CursorRecord).where(self._mine).order_by(CursorRecord.block_number.desc())
            )
        cursor = (stored_cursors[0].block_number, stored_cursors[0].block_hash)
        for stored_cursor in stored_cursors[:-1]:
            head = self._node.head(stored_cursor.block_number)
            if head is not None and head.hash == stored_cursor.block_hash:
                return cursor, stored_cursor.block_number
        return cursor, stored_cursors[-1].block_number

    def _transfers(
        self,
        logs: Sequence[ChainLog],
        stored_rows: Sequence[TransferRecord],
        latest: int,
        aside: SetAside,
        unread: dict[UnreadKey, str],
    ) -> _FoundTransfers:
        """Return the transfers of logs, and add what could not be read to `unread`.

        Receipts give the position of a log in its transaction.
        """
        stored = {(row.transaction_hash, row.block_number, row.log_index): row for row in stored_rows}
        requested: dict[str, None] = {}
        unchanged: dict[TransferKey, TransferRecord] = {}
        for log in without_forwards(logs, self._watch):
            row = stored.get((log.transaction_hash, log.block_number, log.log_index))
            # The hash of a pending block has no meaning; once the block is sealed, it is read again.
            sealed = log.block_number <= latest
            if row is None or not _matches(log, row) or (sealed and log.block_hash != row.block_hash):
                requested[log.transaction_hash] = None
            else:
                unchanged[log.transaction_hash, row.position] = row
        present = {*requested, *(hash for hash, _ in unchanged)}
        # A row from a receipt that appeared after `pending` was read has not vanished.
        if latest >= 0:
            pending = [row.transaction_hash for row in stored_rows if row.block_number > latest]
            requested |= dict.fromkeys(hash for hash in pending if hash not in present)
        if aside.retried is not None and aside.retried[1]:
            requested[aside.retried[1]] = None
            present.add(aside.retried[1])
        blocks = {log.transaction_hash: log.block_hash for log in logs if log.block_number <= latest}
        skipped = aside.skipped_transactions()
        read = read_receipts(lambda: self._node, (hash for hash in requested if hash not in skipped))
        numbers = {row.transaction_hash: row.block_number for row in stored_rows}
        numbers |= {log.transaction_hash: log.block_number for log in logs}
        for hash, reason in read.unread.items():
            known = next((key for key in aside.rows if key[1] == hash), None)
            unread[known or (numbers[hash], hash)] = reason
        changed: dict[TransferKey, Transfer] = {}
        for hash, receipt in read.receipts.items():
            if hash in blocks and (receipt is None or receipt.block_hash != blocks[hash]):
                raise ChainReorganized(f"transaction {hash} left its block during the read")
            if receipt is None or (hash not in present and receipt.block_number <= latest):
                continue
            for transfer in incoming(receipt, self._watch):
                changed[hash, transfer.position] = transfer
        return _FoundTransfers([row for key, row in unchanged.items() if key not in changed], list(changed.values()))

    def _head(self, number: int) -> BlockHead:
        return self._existing(self._node.head(number), number)

    @staticmethod
    def _existing(head: BlockHead | None, number: int) -> BlockHead:
        if head is None:
            raise ChainReorganized(f"block {number} left the chain during the read")
        return head

    def _replace(self, tx: Connection, blocks: _BlockRange) -> None:
        """Apply a range to rows and cursor. Raises `ConcurrentUpdate` if the cursor changed since it was read."""
        self._require_cursor(tx, blocks.cursor)
        keys = blocks.transfers.keys()
        for row in sorted(blocks.stored_rows, key=lambda row: row.order_id or ""):
            if (row.transaction_hash, row.position) not in keys and not blocks.is_unread(row):
                self._vanish(tx, row)
        before = {(row.transaction_hash, row.position): row for row in blocks.stored_rows}
        changed: list[ObservedTransfer] = []
        for transfer in sorted(
            blocks.transfers.changed, key=lambda transfer: (transfer.log.block_number, transfer.log.log_index)
        ):
            step = classify_finality(self._watch.policy, transfer.log.block_number, blocks.newest)
            observed = ObservedTransfer(self._watch.chain_id, transfer, step, self._watch.batch_capture)
            stored = before.get(observed.key)
            # An unchanged row needs no write; a process that changed it in between has newer data.
            if stored is None or observed.differs(stored):
                changed.append(observed)
        record_transfers(self._ledger, tx, changed)
        self._deepen(tx, blocks)
        self._move(tx, blocks)

    def _vanish(self, tx: Connection, row: TransferRecord) -> None:
        """Delete a row, unless another process has recorded a new block for its transaction."""
        current = fetch_one_or_none(tx, select(TransferRecord).where(_same(row)).with_for_update())
        if current is not None:
            remove_transfer(self._ledger, tx, current)

    def _deepen(self, tx: Connection, blocks: _BlockRange) -> None:
        """Move rows that are still on the chain in the same blocks to their current step."""
        moving: dict[StatusStep, list[TransferRecord]] = {}
        for row in (*blocks.older, *blocks.transfers.unchanged):
            finality = classify_finality(self._watch.policy, row.block_number, blocks.newest)
            if finality is not row.step:
                moving.setdefault(finality, []).append(row)
        for step, rows in moving.items():
            move_transfers(self._ledger, tx, rows, step)

    def _move(self, tx: Connection, blocks: _BlockRange) -> None:
        """Insert the new cursor. Delete cursors that left the chain, and all final ones except the newest."""
        abandoned = CursorRecord.block_number > blocks.anchor
        tx.execute(delete(CursorRecord).where(self._mine, abandoned))
        if blocks.end.number > blocks.anchor:
            tx.execute(insert(CursorRecord).values(self._cursor(blocks.end.number, blocks.end.hash)))
        final = select(CursorRecord.block_number).where(
            self._mine,
            CursorRecord.block_number <= blocks.newest.finalized,
            CursorRecord.block_number >= self._watch.start,
        )
        settled = sorted(tx.execute(final).scalars())
        if len(settled) > 1:
            tx.execute(delete(CursorRecord).where(self._mine, CursorRecord.block_number.in_(settled[:-1])))


def _log_unread(blocks: _BlockRange) -> None:
    """Log what a range has set aside."""
    for (number, hash), reason in blocks.unread.items():
        if (number, hash) not in blocks.set_aside.rows:
            fields = {"block": number, "transaction": hash or None, "error": reason[:300]}
            log.warning("transfers set aside: the node does not return them", extra=fields)


def _matches(log: ChainLog, row: TransferRecord) -> bool:
    """Return True if the log matches the row's sender and amount."""
    return (topic_address(log.topics[1]), log_amount(log)) == (row.sender, row.amount)


def _same(row: TransferRecord) -> ColumnElement[bool]:
    """Return the condition for the row as it was read: the same transfer in the same block."""
    return and_(
        TransferRecord.chain_id == row.chain_id,
        TransferRecord.transaction_hash == row.transaction_hash,
        TransferRecord.position == row.position,
        TransferRecord.block_hash == row.block_hash,
    )
