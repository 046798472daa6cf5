"""Effect of on-chain transfers on orders. The rows of `transfers` are authoritative, and orders follow them.

Receipts of own captures and the watcher both report transfers here. A transfer that matches an order captures it. An
unmatched transfer goes to `unmatched_transfers`. A transfer that left the chain reopens its order. Each change is part
of the caller's database transaction.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from foreseal.payments.chain import ChainLog, FinalityBroken, Transfer
from foreseal.payments.contracts.addresses import BATCH_SETTLEMENT
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
    OrderRecord,
    Purpose,
    Reason,
    TransferEnd,
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
from foreseal.payments.transactions import close_included, find_included, release_code_gas
from foreseal.payments.transfers.granted_transfers import find_grant, is_shared, lock_payers, payers_with_grants
from foreseal.payments.transfers.observed_transfer import ObservedTransfer, TransferKey, is_transfer, transfer_key
from foreseal.payments.transfers.referenced_orders import (
    find_by_authorizations,
    find_by_memo,
    find_by_nonce,
    unpaid_reason,
)
from foreseal.payments.transfers.transfer_ends import end_transfer, end_transfers, ended_transfers, reopen_transfer

# Transfers of one read that are listed with the order of their memo; further ones are listed without it.
_MAX_REFERRING = 20


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
    rows: dict[TransferKey, TransferRecord] = {}
    if not observed:
        return rows
    chain_id = TransferRecord.chain_id == observed[0].chain_id
    for hashes in chunks(sorted({each.transfer.log.transaction_hash for each in observed})):
        query = select(TransferRecord).where(chain_id, TransferRecord.transaction_hash.in_(hashes))
        for row in fetch_each(tx, query.with_for_update()):
            rows[row.transaction_hash, row.position] = row
    return rows


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
        writes.append((transfer_key(each.chain_id, *each.key), position))
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
    keys = [transfer_key(row.chain_id, row.transaction_hash, row.position) for row in current]
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
    for batches in chunks(list(hashes)):
        done = _done_batches(tx, batches)
        close_included(tx, Purpose.CAPTURE_BATCH, {each: hashes[each] for each in done})


def _done_batches(tx: Connection, batches: Sequence[str]) -> list[str]:
    """Return the batches of which no order waits for its capture."""
    sending = (OrderRecord.state == OrderState.STORED) & OrderRecord.step.in_(IN_FLIGHT)
    query = select(OrderRecord.capture_batch).where(OrderRecord.capture_batch.in_(batches), sending)
    waiting = set(tx.execute(query.distinct()).scalars())
    return [each for each in batches if each not in waiting]


def _release_code_gas(tx: Connection, new: Sequence[ObservedTransfer]) -> None:
    """Release the gas in flight of the own transactions that made these transfers.

    That of a batch stays while an order waits for it: the receipt shows what its payer lost.
    """
    included = find_included(tx, new[0].chain_id, {each.transfer.log.transaction_hash for each in new})
    batches = [each.subject for each in included if each.purpose is Purpose.CAPTURE_BATCH]
    done = set(_done_batches(tx, batches)) if batches else set()
    release_code_gas(tx, [each.id for each in included if each.purpose is Purpose.CAPTURE or each.subject in done])


def _insert(ledger: Ledger, tx: Connection, new: Sequence[ObservedTransfer]) -> None:
    """Insert new transfers and match them to orders."""
    if not new:
        return
    try:
        insert_all(tx, TransferRecord, [each.values() for each in new])
    except IntegrityError as error:
        raise ConcurrentUpdate("a transfer was recorded by another process") from error
    plain = _plain_captures(tx, new)
    unrelated = _unrelated(tx, [each for each in new if each.key not in plain])
    for each in new:
        if each.key not in plain and each.key not in unrelated:
            _match(ledger, tx, each)
    insert_all(tx, UnmatchedTransferRecord, [_unmatched(each, Reason.UNMATCHED, None) for each in unrelated.values()])
    _capture(ledger, tx, [(each, plain[each.key]) for each in new if each.key in plain])
    _release_code_gas(tx, new)


def _plain_captures(tx: Connection, new: Sequence[ObservedTransfer]) -> dict[TransferKey, OrderRecord]:
    """Return the orders of transfers that use the authorization of an order which nothing else in `new` refers to.

    All others are matched one by one, in the order of the chain.
    """
    by_authorization = find_by_authorizations(tx, new)
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
    ended = ended_transfers(tx, new)
    captured: dict[TransferKey, OrderRecord] = {}
    for each in new:
        if each.key in ended:
            continue
        order = rows.get(by_authorization.get(each.key, ""))
        if order is None or order.id in paid or order.checkout is not None:
            continue
        if unpaid_reason(order, None, each.transfer, by_authorization=True) is None:
            captured[each.key] = order
    return captured


def _unrelated(tx: Connection, new: Sequence[ObservedTransfer]) -> dict[TransferKey, ObservedTransfer]:
    """Return the transfers that pay no sale: they refer to no order, and their sender has no grant.

    Anybody can send thousands of them in one transaction, so they are found and recorded together. A memo alone pays
    no order, so it refers to one only in its first transfers.
    """
    free = [each for each in new if each.transfer.nonce is None and each.transfer.checkout is None]
    candidates = [each for each in free if each.transfer.sender not in (each.batch_capture, BATCH_SETTLEMENT)]
    if not candidates:
        return {}
    senders = {each.transfer.sender for each in candidates}
    lock_payers(tx, candidates[0].chain_id, senders)
    granted = payers_with_grants(tx, candidates[0].chain_id, senders)
    known: set[bytes | None] = set()
    for memos in chunks(list({each.transfer.memo for each in candidates if each.transfer.memo is not None})):
        query = select(OrderRecord.memo).where(OrderRecord.memo.in_(memos))
        known |= {bytes(memo) for memo in tx.execute(query).scalars()}
    referring: Counter[bytes | None] = Counter()
    unrelated: dict[TransferKey, ObservedTransfer] = {}
    for each in candidates:
        memo = each.transfer.memo
        referring[memo] += 1
        if each.transfer.sender not in granted and (memo not in known or referring[memo] > _MAX_REFERRING):
            unrelated[each.key] = each
    return unrelated


def _capture(ledger: Ledger, tx: Connection, captured: Sequence[tuple[ObservedTransfer, OrderRecord]]) -> None:
    """Record that these transfers captured these orders, which are locked."""
    if not captured:
        return
    writes: list[tuple[ColumnValues, ColumnValues]] = [
        (transfer_key(each.chain_id, *each.key), {TransferRecord.order_id: order.id}) for each, order in captured
    ]
    end_transfers(tx, [each for each, _ in captured], TransferEnd.CAPTURED)
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
    tx.execute(delete(TransferRecord).where(is_transfer(*key)))
    reopen_transfer(tx, row)


def _match(ledger: Ledger, tx: Connection, observed: ObservedTransfer) -> None:
    """Match a new transfer to its order or grant, or add it to `unmatched_transfers`."""
    transfer, order = observed.transfer, None
    if observed.batch_capture is not None and transfer.sender == observed.batch_capture:
        _suspend(tx, observed, Reason.SWEEP, None)
        return
    if transfer.sender == BATCH_SETTLEMENT:
        _suspend(tx, observed, Reason.CHANNEL_PAYOUT, None)
        return
    lock_payers(tx, observed.chain_id, {transfer.sender})
    by_authorization = False
    if transfer.nonce is not None:
        order, by_authorization = find_by_nonce(tx, observed)
    if order is None and transfer.memo is not None:
        order = find_by_memo(tx, observed)
    if not by_authorization and _match_grant(ledger, tx, observed, order):
        return
    if order is None:
        _suspend(tx, observed, Reason.SHARED_PAYEE if is_shared(tx, observed) else Reason.UNMATCHED, None)
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
    reason = unpaid_reason(order, before, transfer, by_authorization=by_authorization)
    # A transfer that was refunded or resolved before a reorganization pays no order any more.
    if reason is None and not end_transfer(tx, observed.chain_id, observed.key, TransferEnd.CAPTURED):
        reason = Reason.DIRECT
    if reason is not None:
        _suspend(tx, observed, reason, order.id)
        _record_unpaid(ledger, tx, observed, reason, order)
        return
    tx.execute(update(TransferRecord).where(observed.is_row()).values({TransferRecord.order_id: order.id}))
    details = {"transaction": transfer.log.transaction_hash, "block": transfer.log.block_hash}
    if order.checkout is not None:
        # If the ledger was restored from an older database, the amount may differ from the one decided here.
        tx.execute(update(OrderRecord).where(OrderRecord.id == order.id).values({OrderRecord.actual: transfer.amount}))
    order = ledger.move(tx, OrderRecord, order, Trigger.LANDED, **details)
    ledger.follow(tx, OrderRecord, order, observed.step)


def _match_grant(ledger: Ledger, tx: Connection, observed: ObservedTransfer, order: OrderRecord | None) -> bool:
    """Match a transfer to the grant that it pays. Return False if there is none, or if the transfer has an end.

    `order` is the order that it refers to, and does not pay.
    """
    grant_id, before = find_grant(tx, observed)
    if grant_id is None or not end_transfer(tx, observed.chain_id, observed.key, TransferEnd.GRANTED):
        return False
    if before is not None:
        remove_transfer(ledger, tx, before)
    tx.execute(update(TransferRecord).where(observed.is_row()).values({TransferRecord.grant_id: grant_id}))
    if order is not None:
        _record_unpaid(ledger, tx, observed, Reason.GRANTED, order)
    return True


def _record_unpaid(
    ledger: Ledger, tx: Connection, observed: ObservedTransfer, reason: Reason, order: OrderRecord
) -> None:
    """Record in the timeline of an order that a transfer which refers to it does not pay it."""
    status, transfer = str(OrderStatus(order.state, order.step)), observed.transfer
    details: dict[str, object] = {
        "reason": reason,
        "transaction": transfer.log.transaction_hash,
        "amount": str(transfer.amount),
    }
    details |= {"payer": None} if order.payer is None else {}
    entry = TimelineEntry(
        OrderRecord.__tablename__, order.id, ledger.clock(), TRANSFER_UNMATCHED, status, status, details
    )
    record_entry(tx, entry)


def match_again(ledger: Ledger, tx: Connection, row: TransferRecord) -> None:
    """Match a transfer again: this transaction has changed the sale that its authorization pays."""
    tx.execute(delete(UnmatchedTransferRecord).where(_is_unmatched(row.chain_id, row.transaction_hash, row.position)))
    _match(ledger, tx, _observed(row))


def _observed(row: TransferRecord) -> ObservedTransfer:
    """Return a recorded transfer as it was observed, without the bytes of its log."""
    log = ChainLog(row.token, (), b"", row.block_number, row.block_hash, row.transaction_hash, row.log_index)
    nonce = None if row.nonce is None else bytes(row.nonce)
    memo = None if row.memo is None else bytes(row.memo)
    transfer = Transfer(log, row.position, row.sender, row.recipient, row.amount, nonce, memo, row.checkout)
    return ObservedTransfer(row.chain_id, transfer, row.step)


def _suspend(tx: Connection, observed: ObservedTransfer, reason: Reason, order: str | None) -> None:
    tx.execute(insert(UnmatchedTransferRecord).values(_unmatched(observed, reason, order)))


def _unmatched(observed: ObservedTransfer, reason: Reason, order: str | None) -> ColumnValues:
    return {
        UnmatchedTransferRecord.chain_id: observed.chain_id,
        UnmatchedTransferRecord.transaction_hash: observed.transfer.log.transaction_hash,
        UnmatchedTransferRecord.position: observed.transfer.position,
        UnmatchedTransferRecord.reason: reason,
        UnmatchedTransferRecord.order_id: order,
    }


def _is_unmatched(chain_id: int, transaction_hash: str, position: int) -> ColumnElement[bool]:
    return and_(
        UnmatchedTransferRecord.chain_id == chain_id,
        UnmatchedTransferRecord.transaction_hash == transaction_hash,
        UnmatchedTransferRecord.position == position,
    )
