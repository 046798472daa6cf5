"""The watcher: all transfers of a token to the merchant, as the chain has them.

```text
cursors: number and hash of blocks that earlier scans came to; below the newest one of which
        |                                    the chain still has the hash, nothing changed
        v
window from there, or `overlap` below the newest, in pieces under 2,000 blocks, at last `pending` as well
        |
        v
one database transaction for each piece: rows that vanished are taken off (their orders reopen), rows
that are there are noted (matched to orders, or suspended), the cursor moves
```

Subscriptions may tell when to look; what is there is what eth_getLogs says.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, insert, or_, select, update

from foreseal.payments.chain import Head, Heads, Log, LogFilter, Moving, Node, Policy, Refused, Transfer, Wish, heads
from foreseal.payments.chain.token import TRANSFERRED, address_topic, topic_address, transfers
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.evidence import WIDEST
from foreseal.payments.ledger import REVERSIBLE, Ledger, Overtaken, Step, ensure, locked
from foreseal.payments.ledger.tables import cursors, orders
from foreseal.payments.ledger.tables import transfers as rows
from foreseal.payments.sending import grade
from foreseal.payments.settlement import Seen, forget, record
from foreseal.payments.typed_data import address


@dataclass(frozen=True, slots=True)
class Watch:
    """What is watched, and how."""

    chain_id: int
    token: str
    recipient: str
    start: int = 0
    """Block from which on transfers count."""
    policy: Policy = field(default_factory=Policy)
    overlap: int = 12
    """Blocks below the newest scanned one that are always read again: the confirmation depth."""
    widest: int = WIDEST
    """Blocks of one eth_getLogs at most."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "token", address(self.token, "token"))
        object.__setattr__(self, "recipient", address(self.recipient, "recipient"))
        if not 1 <= self.widest <= WIDEST:
            raise ValueError(f"widest: {self.widest} is not between 1 and {WIDEST}")
        if self.overlap < 1 or self.start < 0:
            raise ValueError("overlap is at least 1, start at least 0")


Progressed = Callable[[int, int], None]
"""Told after each piece: the last block that was read, and the newest one there is."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """Blocks that were read while the chain did not move."""

    first: int
    end: Head
    newest: Heads
    anchor: int
    """Newest cursor that is on the chain."""
    cursor: tuple[int, str]
    """Newest cursor, number and hash."""
    known: Sequence[Row[Any]]
    """Rows of these blocks before, and those below whose block is not on the chain."""
    older: Sequence[Row[Any]]
    """Rows below that are not final yet."""
    found: Sequence[Transfer]
    """Transfers in these blocks now; of the last piece, pre-confirmed ones as well."""

    @property
    def last(self) -> bool:
        """Whether no block is above."""
        return self.end.number == self.newest.latest


class Watcher:
    """Keeps the rows of transfers equal to the chain. Several may run on one database: one of them gets its way."""

    def __init__(
        self,
        ledger: Ledger,
        node: Node,
        watch: Watch,
        progressed: Progressed | None = None,
        ahead: Callable[[Sequence[Wish]], Node] | None = None,
    ) -> None:
        """`ahead` makes the node that was asked several things at once (`chain.ahead`)."""
        self._ledger = ledger
        self._ahead = ahead
        self._established = False
        # Cursor up to which this one has read, the overlap too: until another block is there, only `pending` is news.
        self._tip: tuple[int, str] | None = None
        self._node = node
        self._watch = watch
        self._progressed = progressed
        self._key = {"chain_id": watch.chain_id, "token": watch.token, "recipient": watch.recipient}
        self._mine, self._ours = (
            and_(*(table.c[name] == value for name, value in self._key.items())) for table in (cursors, rows)
        )

    def poll(self) -> None:
        """Catch up with the chain, pre-confirmed transfers included.

        What was stored before an error stays, and the next call goes on from there. Raises `Moving` if the chain moved
        while a piece was read, `Overtaken` if another watcher is at work, `FinalityBroken`, and what the node raises.
        """
        self._establish()
        again = True
        while True:
            piece = self._read(again)
            self._ledger.passed(CrashPoint.WINDOW_READ)
            # Lost with the power, it is read again.
            with self._ledger.database.transaction(durable=False) as tx:
                self._replace(tx, piece)
                self._ledger.passed(CrashPoint.WINDOW_REPLACED)
            self._ledger.passed(CrashPoint.WINDOW_STORED)
            if self._progressed is not None:
                self._progressed(piece.end.number, piece.newest.latest)
            if piece.last:
                self._tip = (piece.end.number, piece.end.hash)
                return
            again = False

    def _establish(self) -> None:
        """The cursor before the first block, which is on every chain."""
        if self._established:
            return
        before = self._watch.start - 1
        with self._ledger.database.transaction() as tx:
            if tx.execute(select(cursors.c.block_number).where(self._mine).limit(1)).first() is None:
                ensure(tx, cursors, **self._key, block_number=before, block_hash="")
        self._established = True

    def _read(self, again: bool) -> _Piece:
        """The next piece; with `again`, from `overlap` below the newest cursor at most."""
        # Before the newest block is known: what is pre-confirmed above it then cannot have been sealed unseen.
        pending = self._logs("pending", "pending")
        newest = heads(self._node)
        tip = self._head(newest.latest)
        cursor, anchor = self._cursors()
        first = anchor + 1
        if again and not cursor == (tip.number, tip.hash) == self._tip:
            first = max(self._watch.start, min(first, cursor[0] - self._watch.overlap + 1))
        end = min(first + self._watch.widest - 1, newest.latest)
        logs = list(self._logs(first, end)) if first <= end else []
        last = end == newest.latest
        with self._ledger.database.reading() as tx:
            upper = [] if last else [rows.c.block_number <= end]
            known = list(tx.execute(select(rows).where(self._ours, rows.c.block_number >= first, *upper)))
        if last:
            logs += [log for log in pending if log.block_number > newest.latest]
        found = self._transfers(logs, known, newest.latest)
        older, stale = self._older(first, newest)
        reached = self._head(end)
        if (reached if last else self._head(tip.number)).hash != tip.hash:
            raise Moving("the chain was reorganised while a piece was read")
        return _Piece(first, reached, newest, anchor, cursor, [*known, *stale], older, found)

    def _older(self, first: int, newest: Heads) -> tuple[list[Row[Any]], list[Row[Any]]]:
        """Rows below a piece whose step is another one by now, and apart those that would be final on a chain that is
        gone.

        Receipts bring rows as well, and may have been read before the chain moved and noted after a scan.
        """
        reach = self._watch.policy.reach(newest)
        changing = or_(
            rows.c.block_number <= newest.finalized,
            and_(rows.c.step == Step.PROVISIONAL, rows.c.block_number <= reach),
            and_(rows.c.step == Step.CONFIRMED, rows.c.block_number > reach),
        )
        below = select(rows).where(self._ours, rows.c.block_number < first, rows.c.step.in_(REVERSIBLE), changing)
        with self._ledger.database.reading() as tx:
            older = list(tx.execute(below.order_by(rows.c.order_id)))
        settling = {row.block_number for row in older if row.block_number <= newest.finalized}
        hashes = {number: self._head(number).hash for number in settling}
        kept: list[Row[Any]] = []
        stale: list[Row[Any]] = []
        for row in older:
            (kept if hashes.get(row.block_number, row.block_hash) == row.block_hash else stale).append(row)
        return kept, stale

    def _cursors(self) -> tuple[tuple[int, str], int]:
        """The newest cursor, and the number of the newest one that is on the chain."""
        with self._ledger.database.reading() as tx:
            places = list(tx.execute(select(cursors).where(self._mine).order_by(cursors.c.block_number.desc())))
        cursor = (places[0].block_number, places[0].block_hash)
        for place in places[:-1]:
            head = self._node.head(place.block_number)
            if head is not None and head.hash == place.block_hash:
                return cursor, place.block_number
        return cursor, places[-1].block_number

    def _logs(self, first: int | str, last: int | str) -> Sequence[Log]:
        """In two halves where the node refuses: it may have more logs there than it gives at once."""
        topics = ((TRANSFERRED,), None, (address_topic(self._watch.recipient),))
        try:
            return self._node.logs(LogFilter(self._watch.token, topics, first, last))
        except Refused:
            if isinstance(first, str) or isinstance(last, str) or first == last:
                raise
            middle = (first + last) // 2
            return [*self._logs(first, middle), *self._logs(middle + 1, last)]

    def _transfers(self, logs: Sequence[Log], known: Sequence[Row[Any]], latest: int) -> list[Transfer]:
        """The transfers of logs, with their places in their transactions, which receipts tell."""
        stored = {(row.transaction_hash, row.block_number, row.log_index): row for row in known}
        asked: dict[str, None] = {}
        found: dict[tuple[str, int], Transfer] = {}
        for log in logs:
            row = stored.get((log.transaction_hash, log.block_number, log.log_index))
            # The hash of a block that is being built says nothing; once it is sealed, all is read anew.
            sealed = log.block_number <= latest
            if row is None or not _tells_of(log, row) or (sealed and log.block_hash != row.block_hash):
                asked[log.transaction_hash] = None
            else:
                found[log.transaction_hash, row.position] = _noted(row, log)
        present = {*asked, *(hash for hash, _ in found)}
        # What was pre-confirmed after `pending` was read, and noted by its receipt, has not vanished.
        if latest >= 0:
            pending = [row.transaction_hash for row in known if row.block_number > latest]
            asked |= dict.fromkeys(hash for hash in pending if hash not in present)
        blocks = {log.transaction_hash: log.block_hash for log in logs if log.block_number <= latest}
        node = self._asked_receipts(asked)
        for hash in asked:
            receipt = node.receipt(hash)
            if hash in blocks and (receipt is None or receipt.block_hash != blocks[hash]):
                raise Moving(f"transaction {hash} left its block while it was read")
            if receipt is None or (hash not in present and receipt.block_number <= latest):
                continue
            for each in transfers(receipt, self._watch.token):
                if each.recipient == self._watch.recipient:
                    found[hash, each.position] = each
        return list(found.values())

    def _asked_receipts(self, hashes: Collection[str]) -> Node:
        if self._ahead is None or len(hashes) < 2:
            return self._node
        return self._ahead([partial(_receipt, hash) for hash in hashes])

    def _head(self, number: int) -> Head:
        head = self._node.head(number)
        if head is None:
            raise Moving(f"block {number} left the chain while a piece was read")
        return head

    def _replace(self, tx: Connection, piece: _Piece) -> None:
        """Make rows and cursor what was read. Raises `Overtaken` if the cursor is not the one that it was read from."""
        places = select(cursors).where(self._mine).order_by(cursors.c.block_number.desc())
        newest = tx.execute(places.with_for_update()).first()
        if newest is None or (newest.block_number, newest.block_hash) != piece.cursor:
            raise Overtaken("another watcher moved the cursor")
        found = {(each.log.transaction_hash, each.position) for each in piece.found}
        for row in sorted(piece.known, key=lambda row: row.order_id or ""):
            if (row.transaction_hash, row.position) not in found:
                self._vanish(tx, row)
        before = {(row.transaction_hash, row.position): row for row in piece.known}
        for each in sorted(piece.found, key=lambda each: (each.log.block_number, each.log.log_index)):
            step = grade(self._watch.policy, each.log.block_number, piece.newest)
            seen = Seen(self._watch.chain_id, each, step)
            noted = before.get((each.log.transaction_hash, each.position))
            # What is as it was needs no writing; whoever changed it meanwhile has read more.
            if noted is None or any(getattr(noted, name) != value for name, value in seen.values().items()):
                record(self._ledger, tx, seen)
        self._deepen(tx, piece)
        self._move(tx, piece)

    def _vanish(self, tx: Connection, row: Row[Any]) -> None:
        """Take a row off, unless somebody has noted meanwhile that its transaction is elsewhere."""
        current = tx.execute(select(rows).where(_same(row)).with_for_update()).one_or_none()
        if current is not None:
            forget(self._ledger, tx, current)

    def _deepen(self, tx: Connection, piece: _Piece) -> None:
        """Bring older rows, which are on the chain still, to the step at which they are by now."""
        for row in piece.older:
            step = grade(self._watch.policy, row.block_number, piece.newest)
            if step is row.step:
                continue
            changed = tx.execute(update(rows).where(_same(row), rows.c.step == row.step).values(step=step))
            if changed.rowcount == 1 and row.order_id is not None:
                self._ledger.follow(tx, orders, locked(tx, orders, row.order_id), step)

    def _move(self, tx: Connection, piece: _Piece) -> None:
        """Set the cursor, drop those that left the chain, and those below the final block but the newest."""
        gone = cursors.c.block_number > piece.anchor
        tx.execute(delete(cursors).where(self._mine, gone))
        if piece.end.number > piece.anchor:
            tx.execute(insert(cursors).values(**self._key, block_number=piece.end.number, block_hash=piece.end.hash))
        final = select(cursors.c.block_number).where(
            self._mine, cursors.c.block_number <= piece.newest.finalized, cursors.c.block_number >= self._watch.start
        )
        settled = sorted(tx.execute(final).scalars())
        if len(settled) > 1:
            tx.execute(delete(cursors).where(self._mine, cursors.c.block_number.in_(settled[:-1])))


def _receipt(hash: str, node: Node) -> object:
    return node.receipt(hash)


def _tells_of(log: Log, row: Row[Any]) -> bool:
    """Whether a log has what the row has of it."""
    return (topic_address(log.topics[1]), int.from_bytes(log.data[:32], "big")) == (row.sender, row.amount)


def _noted(row: Row[Any], log: Log) -> Transfer:
    """The transfer of a row, whose log was seen again."""
    rest = (row.position, row.sender, row.recipient, row.amount, row.nonce, row.memo, row.checkout)
    return Transfer(replace(log, block_hash=row.block_hash), *rest)


def _same(row: Row[Any]) -> Any:
    """The row as it was read: of the same transfer in the same block."""
    return and_(
        rows.c.chain_id == row.chain_id,
        rows.c.transaction_hash == row.transaction_hash,
        rows.c.position == row.position,
        rows.c.block_hash == row.block_hash,
    )
