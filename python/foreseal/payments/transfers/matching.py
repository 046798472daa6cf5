"""Effect of on-chain transfers on orders. The rows of `transfers` are authoritative, and orders follow them.

Receipts of own captures and the watcher both report transfers here. A transfer that matches an order captures it. An
unmatched transfer goes to `unmatched_transfers`. A transfer that left the chain reopens its order. Each change is part
of the caller's database transaction.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import InstrumentedAttribute

from foreseal.payments.chain import ChainLog, FinalityBroken, Transfer
from foreseal.payments.ledger import (
    IN_FLIGHT,
    ConcurrentUpdate,
    Finality,
    Ledger,
    OrderState,
    OrderStatus,
    StatusStep,
    TimelineEntry,
    Trigger,
    locked,
    locked_all,
)
from foreseal.payments.ledger.models import (
    AuthorizationRecord,
    OrderRecord,
    Purpose,
    Reason,
    TransferRecord,
    UnmatchedTransferRecord,
)
from foreseal.payments.ledger.queries import (
    ColumnValues,
    chunks,
    fetch_each,
    fetch_one_or_none,
    insert_all,
    update_all,
)
from foreseal.payments.ledger.timeline import TRANSFER_UNMATCHED, record_entry
from foreseal.payments.transactions import close_included

TransferKey = tuple[str, int]
"""Transaction hash, and position of the Transfer among the transaction's logs."""

_LATE = (OrderState.VOIDED, OrderState.CANCELED, OrderState.EXPIRED)


class PayableTerms(Protocol):
    """Terms of an order that a transfer must fulfil."""

    @property
    def amount(self) -> int: ...
    @property
    def checkout(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class ObservedTransfer:
    """A transfer to the merchant on the chain."""

    chain_id: int
    transfer: Transfer
    step: StatusStep
    """PROVISIONAL, CONFIRMED or FINAL."""
    batch_capture: str | None = None
    """The merchant's batch capture contract."""

    def values(self) -> ColumnValues:
        """Return the columns of its row, except the order."""
        log = self.transfer.log
        return {
            TransferRecord.chain_id: self.chain_id,
            TransferRecord.transaction_hash: log.transaction_hash,
            TransferRecord.position: self.transfer.position,
            TransferRecord.block_hash: log.block_hash,
            TransferRecord.log_index: log.log_index,
            TransferRecord.block_number: log.block_number,
            TransferRecord.token: log.address,
            TransferRecord.sender: self.transfer.sender,
            TransferRecord.recipient: self.transfer.recipient,
            TransferRecord.amount: self.transfer.amount,
            TransferRecord.nonce: self.transfer.nonce,
            TransferRecord.memo: self.transfer.memo,
            TransferRecord.checkout: self.transfer.checkout,
            TransferRecord.step: self.step,
        }

    @property
    def key(self) -> TransferKey:
        """Transaction hash and position, which identify the transfer on its chain."""
        return self.transfer.log.transaction_hash, self.transfer.position

    def differs(self, row: TransferRecord) -> bool:
        """Return True if a stored row has another value in any of these columns."""
        return any(getattr(row, column.key) != value for column, value in self.values().items())

    def replaces(self, row: TransferRecord) -> bool:
        """Return True if a stored row describes another transfer: a reorganization may reuse the key."""
        values = self.values()
        return any(getattr(row, column.key) != values[column] for column in _CONTENT)

    def is_row(self) -> ColumnElement[bool]:
        """Return the condition for its row."""
        return _is_transfer(self.chain_id, self.transfer.log.transaction_hash, self.transfer.position)


# Columns that identify the content: after a reorganization, the same key may have a different transfer.
_CONTENT: tuple[InstrumentedAttribute[Any], ...] = (
    TransferRecord.token,
    TransferRecord.sender,
    TransferRecord.recipient,
    TransferRecord.amount,
    TransferRecord.nonce,
    TransferRecord.memo,
    TransferRecord.checkout,
)


def record_transfer(ledger: Ledger, tx: Connection, observed: ObservedTransfer) -> None:
    """Record one transfer like `record_transfers`."""
    record_transfers(ledger, tx, [observed])


def record_transfers(ledger: Ledger, tx: Connection, observed: Sequence[ObservedTransfer]) -> None:
    """Record transfers or their new positions, and move their orders accordingly. Raises `FinalityBroken`.

    `observed` is in the order of the chain.
    """
    stored = _stored(tx, observed)
    new: list[ObservedTransfer] = []
    changed: list[ObservedTransfer] = []
    for each in observed:
        row = stored.get(each.key)
        if row is not None and each.replaces(row):
            remove_transfer(ledger, tx, row)
            row = None
        if row is None:
            new.append(each)
        elif row.step is not Finality.FINAL:
            changed.append(each)
        elif row.block_hash != each.transfer.log.block_hash:
            raise FinalityBroken(f"transfer {row.transaction_hash}: its final block {row.block_hash} is gone")
    _update(ledger, tx, changed, stored)
    _insert(ledger, tx, new)


def _stored(tx: Connection, observed: Sequence[ObservedTransfer]) -> dict[TransferKey, TransferRecord]:
    """Return the rows of these transfers, locked."""
    found: dict[TransferKey, TransferRecord] = {}
    if not observed:
        return found
    chain_id = TransferRecord.chain_id == observed[0].chain_id
    for hashes in chunks(sorted({each.transfer.log.transaction_hash for each in observed})):
        query = select(TransferRecord).where(chain_id, TransferRecord.transaction_hash.in_(hashes))
        for row in fetch_each(tx, query.with_for_update()):
            found[row.transaction_hash, row.position] = row
    return found


def _update(
    ledger: Ledger, tx: Connection, changed: Sequence[ObservedTransfer], stored: Mapping[TransferKey, TransferRecord]
) -> None:
    """Write the new positions of recorded transfers, and let their orders follow."""
    if not changed:
        return
    writes: list[tuple[ColumnValues, ColumnValues]] = []
    for each in changed:
        log = each.transfer.log
        position: ColumnValues = {
            TransferRecord.block_hash: log.block_hash,
            TransferRecord.log_index: log.log_index,
            TransferRecord.block_number: log.block_number,
            TransferRecord.step: each.step,
        }
        writes.append((_key(each.chain_id, *each.key), position))
    update_all(tx, TransferRecord, writes)
    steps: dict[StatusStep, dict[str, str]] = {}
    for each in changed:
        order_id = stored[each.key].order_id
        if order_id is not None:
            steps.setdefault(each.step, {})[order_id] = each.transfer.log.transaction_hash
    for step, paid in steps.items():
        follow_orders(ledger, tx, paid, step)


def move_transfers(ledger: Ledger, tx: Connection, rows: Sequence[TransferRecord], step: StatusStep) -> None:
    """Move transfers that are on the chain in the same blocks to another step, and let their orders follow.

    A row that another process changed since it was read is left to it.
    """
    current: list[TransferRecord] = []
    for chunk in chunks(rows):
        read = {(row.transaction_hash, row.position): row for row in chunk}
        hashes = sorted({row.transaction_hash for row in chunk})
        same = (TransferRecord.chain_id == chunk[0].chain_id) & TransferRecord.transaction_hash.in_(hashes)
        for row in fetch_each(tx, select(TransferRecord).where(same).with_for_update()):
            before = read.get((row.transaction_hash, row.position))
            if before is not None and (before.block_hash, before.step) == (row.block_hash, row.step):
                current.append(row)
    setting: ColumnValues = {TransferRecord.step: step}
    keys = [_key(row.chain_id, row.transaction_hash, row.position) for row in current]
    update_all(tx, TransferRecord, [(key, setting) for key in keys])
    paid = {row.order_id: row.transaction_hash for row in current if row.order_id is not None}
    follow_orders(ledger, tx, paid, step)


def follow_orders(ledger: Ledger, tx: Connection, paid: Mapping[str, str], step: StatusStep) -> None:
    """Move captured orders to the step of their transfers. `paid` has the hash of the transaction of each order.

    An order that becomes final needs no tracking of the own transaction that captured it.
    """
    rows = locked_all(tx, OrderRecord, paid)
    ledger.follow_all(tx, OrderRecord, rows, step)
    if step is Finality.FINAL:
        for ids in chunks([row.id for row in rows]):
            close_included(tx, Purpose.CAPTURE, {id: paid[id] for id in ids})
        _close_batches(tx, {row.capture_batch: paid[row.id] for row in rows if row.capture_batch is not None})


def _close_batches(tx: Connection, hashes: Mapping[str, str]) -> None:
    """Close these batches, by the hash of a transaction that captured one of the orders.

    A batch stays open while an order waits for it: the receipt shows why its capture failed.
    """
    sending = (OrderRecord.state == OrderState.STORED) & OrderRecord.step.in_(IN_FLIGHT)
    for batches in chunks(list(hashes)):
        query = select(OrderRecord.capture_batch).where(OrderRecord.capture_batch.in_(batches), sending)
        waiting = set(tx.execute(query.distinct()).scalars())
        close_included(tx, Purpose.CAPTURE_BATCH, {each: hashes[each] for each in batches if each not in waiting})


def _insert(ledger: Ledger, tx: Connection, new: Sequence[ObservedTransfer]) -> None:
    """Insert new transfers and match them to orders."""
    if not new:
        return
    try:
        insert_all(tx, TransferRecord, [each.values() for each in new])
    except IntegrityError as error:
        raise ConcurrentUpdate("a transfer was recorded by another process") from error
    plain = _plain_captures(tx, new)
    for each in new:
        if each.key not in plain:
            _match(ledger, tx, each)
    _capture(ledger, tx, [(each, plain[each.key]) for each in new if each.key in plain])


def _plain_captures(tx: Connection, new: Sequence[ObservedTransfer]) -> dict[TransferKey, OrderRecord]:
    """Return the orders of transfers that use the authorization of an order which nothing else in `new` refers to.

    All others are matched one by one, in the order of the chain.
    """
    by_authorization = _find_by_authorizations(tx, new)
    memos = [each.transfer.memo for each in new if each.transfer.memo is not None]
    disputed = (
        {row.id for row in tx.execute(select(OrderRecord.id).where(OrderRecord.memo.in_(memos)))} if memos else set()
    )
    counts = Counter(by_authorization.values())
    ids = [id for id, count in counts.items() if count == 1 and id not in disputed]
    rows = {row.id: row for row in locked_all(tx, OrderRecord, ids)}
    paid: set[str | None] = set()
    for chunk in chunks(ids):
        paid |= set(tx.execute(select(TransferRecord.order_id).where(TransferRecord.order_id.in_(chunk))).scalars())
    found: dict[TransferKey, OrderRecord] = {}
    for each in new:
        order = rows.get(by_authorization.get(each.key, ""))
        if order is None or order.id in paid or order.checkout is not None:
            continue
        if _reason(order, None, each.transfer, by_authorization=True) is None:
            found[each.key] = order
    return found


def _find_by_authorizations(tx: Connection, new: Sequence[ObservedTransfer]) -> dict[TransferKey, str]:
    """Return the ids of the orders whose authorizations these transfers use."""
    wanted = {
        (each.transfer.checkout or each.transfer.log.address, each.transfer.sender, each.transfer.nonce): each.key
        for each in new
        if each.transfer.nonce is not None
    }
    found: dict[TransferKey, str] = {}
    for nonces in chunks([nonce for _, _, nonce in wanted]):
        same = (AuthorizationRecord.chain_id == new[0].chain_id) & AuthorizationRecord.nonce.in_(nonces)
        for row in fetch_each(tx, select(AuthorizationRecord).where(same)):
            key = wanted.get((row.contract, row.payer, bytes(row.nonce)))
            if key is not None:
                found[key] = row.order_id
    return found


def _capture(ledger: Ledger, tx: Connection, captured: Sequence[tuple[ObservedTransfer, OrderRecord]]) -> None:
    """Record that these transfers captured these orders, which are locked."""
    if not captured:
        return
    writes: list[tuple[ColumnValues, ColumnValues]] = [
        (_key(each.chain_id, *each.key), {TransferRecord.order_id: order.id}) for each, order in captured
    ]
    update_all(tx, TransferRecord, writes)
    details = {
        order.id: {"transaction": each.transfer.log.transaction_hash, "block": each.transfer.log.block_hash}
        for each, order in captured
    }
    ledger.move_all(tx, OrderRecord, [order for _, order in captured], Trigger.LANDED, details)
    steps: dict[StatusStep, dict[str, str]] = {}
    for each, order in captured:
        if each.step is not Finality.PROVISIONAL:
            steps.setdefault(each.step, {})[order.id] = each.transfer.log.transaction_hash
    for step, paid in steps.items():
        follow_orders(ledger, tx, paid, step)


def remove_transfer(ledger: Ledger, tx: Connection, row: TransferRecord) -> None:
    """Delete a transfer that left the chain, and reopen its order. Raises `FinalityBroken`."""
    if row.step is Finality.FINAL:
        raise FinalityBroken(f"transfer {row.transaction_hash}: it was in the final block {row.block_hash}")
    if row.order_id is not None:
        order = locked(tx, OrderRecord, row.order_id)
        ledger.move(tx, OrderRecord, order, Trigger.REOPEN, transaction=row.transaction_hash, block=row.block_hash)
    key = (row.chain_id, row.transaction_hash, row.position)
    tx.execute(delete(UnmatchedTransferRecord).where(_is_unmatched(*key)))
    tx.execute(delete(TransferRecord).where(_is_transfer(*key)))


def _match(ledger: Ledger, tx: Connection, observed: ObservedTransfer) -> None:
    """Match a new transfer to its order, or add it to `unmatched_transfers`."""
    transfer, order = observed.transfer, None
    if observed.batch_capture is not None and transfer.sender == observed.batch_capture:
        _suspend(tx, observed, Reason.SWEEP, None)
        return
    by_authorization = False
    if transfer.nonce is not None:
        order, by_authorization = _find_by_nonce(tx, observed)
    if order is None and transfer.memo is not None:
        order = _find_by_memo(tx, observed)
    if order is None:
        _suspend(tx, observed, Reason.UNMATCHED, None)
        return
    before = fetch_one_or_none(tx, select(TransferRecord).where(TransferRecord.order_id == order.id))
    if (
        by_authorization
        and before is not None
        and (before.nonce, before.checkout) == (transfer.nonce, transfer.checkout)
    ):
        # Each nonce allows one transfer, so the earlier one belongs to a chain that was reorganized away.
        remove_transfer(ledger, tx, before)
        order, before = locked(tx, OrderRecord, order.id), None
    reason = _reason(order, before, transfer, by_authorization=by_authorization)
    if reason is not None:
        _suspend(tx, observed, reason, order.id)
        status, log = str(OrderStatus(order.state, order.step)), transfer.log
        details: dict[str, Any] = {
            "reason": reason,
            "transaction": log.transaction_hash,
            "amount": str(transfer.amount),
        }
        details |= {"payer": None} if order.payer is None else {}
        entry = TimelineEntry(
            OrderRecord.__tablename__, order.id, ledger.clock(), TRANSFER_UNMATCHED, status, status, details
        )
        record_entry(tx, entry)
        return
    tx.execute(update(TransferRecord).where(observed.is_row()).values({TransferRecord.order_id: order.id}))
    details = {"transaction": transfer.log.transaction_hash, "block": transfer.log.block_hash}
    if order.checkout is not None:
        # If the ledger was restored from an older database, the amount may differ from the one decided here.
        tx.execute(update(OrderRecord).where(OrderRecord.id == order.id).values({OrderRecord.actual: transfer.amount}))
    order = ledger.move(tx, OrderRecord, order, Trigger.LANDED, **details)
    ledger.follow(tx, OrderRecord, order, observed.step)


def match_earlier(ledger: Ledger, tx: Connection, row: TransferRecord) -> None:
    """Match an unmatched transfer again: the order that it pays has been bound in this transaction."""
    tx.execute(delete(UnmatchedTransferRecord).where(_is_unmatched(row.chain_id, row.transaction_hash, row.position)))
    _match(ledger, tx, _observed(row))


def _observed(row: TransferRecord) -> ObservedTransfer:
    """Return a recorded transfer as it was observed, without the bytes of its log."""
    log = ChainLog(row.token, (), b"", row.block_number, row.block_hash, row.transaction_hash, row.log_index)
    nonce = None if row.nonce is None else bytes(row.nonce)
    memo = None if row.memo is None else bytes(row.memo)
    transfer = Transfer(log, row.position, row.sender, row.recipient, row.amount, nonce, memo, row.checkout)
    return ObservedTransfer(row.chain_id, transfer, row.step)


def _find_by_nonce(tx: Connection, observed: ObservedTransfer) -> tuple[OrderRecord | None, bool]:
    """Return the order of a transfer's nonce, locked, and True if the transfer used its stored authorization."""
    order = _find_by_authorization(tx, observed)
    if order is not None:
        return order, True
    unbound = _find_unbound(tx, observed)
    # The signature may have been stored in between; the query before waited for it.
    order = _find_by_authorization(tx, observed)
    return (unbound, False) if order is None else (order, True)


def _find_unbound(tx: Connection, observed: ObservedTransfer) -> OrderRecord | None:
    """Return the order that has a transfer's nonce, and its sender as payer or no payer yet, locked.

    The service does not have the payer's signature yet.
    """
    same = and_(
        OrderRecord.chain_id == observed.chain_id,
        OrderRecord.token == observed.transfer.log.address,
        OrderRecord.nonce == observed.transfer.nonce,
        OrderRecord.checkout == observed.transfer.checkout,
        or_(OrderRecord.payer == observed.transfer.sender, OrderRecord.payer.is_(None)),
    )
    query = select(OrderRecord).where(same).order_by(OrderRecord.id).limit(1)
    return fetch_one_or_none(tx, query.with_for_update())


def _find_by_authorization(tx: Connection, observed: ObservedTransfer) -> OrderRecord | None:
    same = and_(
        AuthorizationRecord.chain_id == observed.chain_id,
        AuthorizationRecord.contract == (observed.transfer.checkout or observed.transfer.log.address),
        AuthorizationRecord.payer == observed.transfer.sender,
        AuthorizationRecord.nonce == observed.transfer.nonce,
    )
    found = tx.execute(select(AuthorizationRecord.order_id).where(same)).scalar_one_or_none()
    return None if found is None else locked(tx, OrderRecord, found)


def _find_by_memo(tx: Connection, observed: ObservedTransfer) -> OrderRecord | None:
    same = and_(
        OrderRecord.chain_id == observed.chain_id,
        OrderRecord.token == observed.transfer.log.address,
        OrderRecord.memo == observed.transfer.memo,
    )
    return fetch_one_or_none(tx, select(OrderRecord).where(same).with_for_update())


def _reason(
    order: OrderRecord, before: TransferRecord | None, transfer: Transfer | TransferRecord, *, by_authorization: bool
) -> Reason | None:
    """Return the reason why a transfer does not pay the order that it refers to; None if it does."""
    if before is not None:
        return Reason.DUPLICATE
    if order.state in _LATE:
        return Reason.LATE
    if not pays_amount(order, transfer):
        return Reason.UNDERPAID if transfer.amount < order.amount else Reason.OVERPAID
    if not by_authorization or order.state is not OrderState.STORED or transfer.recipient != order.payee:
        return Reason.DIRECT
    return None


def pays_amount(order: PayableTerms, transfer: Transfer | TransferRecord) -> bool:
    """Return True if a transfer has the amount of an order, or a checkout captured less than the maximum."""
    captured = order.checkout is not None and transfer.checkout == order.checkout
    return transfer.amount == order.amount or (captured and transfer.amount < order.amount)


def _suspend(tx: Connection, observed: ObservedTransfer, reason: Reason, order: str | None) -> None:
    values: ColumnValues = {
        UnmatchedTransferRecord.chain_id: observed.chain_id,
        UnmatchedTransferRecord.transaction_hash: observed.transfer.log.transaction_hash,
        UnmatchedTransferRecord.position: observed.transfer.position,
        UnmatchedTransferRecord.reason: reason,
        UnmatchedTransferRecord.order_id: order,
    }
    tx.execute(insert(UnmatchedTransferRecord).values(values))


def _key(chain_id: int, transaction_hash: str, position: int) -> ColumnValues:
    return {
        TransferRecord.chain_id: chain_id,
        TransferRecord.transaction_hash: transaction_hash,
        TransferRecord.position: position,
    }


def _is_transfer(chain_id: int, transaction_hash: str, position: int) -> ColumnElement[bool]:
    return and_(
        TransferRecord.chain_id == chain_id,
        TransferRecord.transaction_hash == transaction_hash,
        TransferRecord.position == position,
    )


def _is_unmatched(chain_id: int, transaction_hash: str, position: int) -> ColumnElement[bool]:
    return and_(
        UnmatchedTransferRecord.chain_id == chain_id,
        UnmatchedTransferRecord.transaction_hash == transaction_hash,
        UnmatchedTransferRecord.position == position,
    )
