"""Transactions and blocks that the watcher could not read: by name, with growing pauses between the attempts."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, select, update

from foreseal.payments.ledger.models import SetAsideRecord
from foreseal.payments.ledger.queries import ColumnValues, fetch_all
from foreseal.payments.transfers.settings import WatcherSettings

UnreadKey = tuple[int, str]
"""Number of a block, and hash of its transaction; empty for the whole block."""

# Seconds before the second attempt, doubled before each further one up to the maximum.
_FIRST_PAUSE, _MAX_PAUSE = 5, 3_600
# Longest stored reason, in characters.
_REASON_LENGTH = 300


@dataclass(frozen=True, slots=True)
class SetAside:
    """Rows of one watcher, as of one read."""

    rows: Mapping[UnreadKey, SetAsideRecord]
    retried: UnreadKey | None
    """The one whose next attempt is due."""

    def retried_block(self) -> int | None:
        """Return the block whose next attempt is due; None if it is a transaction's, or none is due."""
        return None if self.retried is None or self.retried[1] else self.retried[0]

    def skipped_blocks(self) -> set[int]:
        """Return the blocks that are not read now."""
        return {number for number, hash in self.rows if not hash and (number, hash) != self.retried}

    def skipped_transactions(self) -> set[str]:
        """Return the transactions that are not read now."""
        return {hash for number, hash in self.rows if hash and (number, hash) != self.retried}


class SetAsideStore:
    """Access to the rows of one watcher."""

    def __init__(self, watch: WatcherSettings) -> None:
        self._key: ColumnValues = {
            SetAsideRecord.chain_id: watch.chain_id,
            SetAsideRecord.token: watch.token,
            SetAsideRecord.recipient: watch.cursor_key,
        }
        self._mine = and_(*(column == value for column, value in self._key.items()))

    def load(self, tx: Connection, now: int) -> SetAside:
        """Return all rows, and the one that waits longest for its next attempt."""
        order = (SetAsideRecord.due, SetAsideRecord.block_number, SetAsideRecord.transaction_hash)
        ordered = fetch_all(tx, select(SetAsideRecord).where(self._mine).order_by(*order))
        rows = {(row.block_number, row.transaction_hash): row for row in ordered}
        retried = next(iter(rows)) if ordered and ordered[0].due <= now else None
        return SetAside(rows, retried)

    def save(self, tx: Connection, before: SetAside, unread: Mapping[UnreadKey, str], now: int) -> None:
        """Add or postpone what was not read, and delete the retried row if it was."""
        for key, reason in unread.items():
            row = before.rows.get(key)
            attempts = 1 if row is None else row.attempts + 1
            pause = min(_FIRST_PAUSE << min(attempts - 1, 16), _MAX_PAUSE)
            values: ColumnValues = {
                SetAsideRecord.reason: reason[:_REASON_LENGTH],
                SetAsideRecord.due: now + pause,
                SetAsideRecord.attempts: attempts,
            }
            if row is None:
                named: ColumnValues = {SetAsideRecord.block_number: key[0], SetAsideRecord.transaction_hash: key[1]}
                tx.execute(insert(SetAsideRecord).values({**self._key, **named, SetAsideRecord.since: now, **values}))
            else:
                tx.execute(update(SetAsideRecord).where(self._is(key)).values(values))
        if before.retried is not None and before.retried not in unread:
            tx.execute(delete(SetAsideRecord).where(self._is(before.retried)))

    def _is(self, key: UnreadKey) -> ColumnElement[bool]:
        return and_(self._mine, SetAsideRecord.block_number == key[0], SetAsideRecord.transaction_hash == key[1])
