"""Effect of on-chain transfers on orders. The rows of `transfers` are authoritative, and orders follow them.

Receipts of own captures and the watcher both report transfers here. A transfer that matches an order captures it. An
unmatched transfer goes to `unmatched_transfers`. A transfer that left the chain reopens its order. Each change is part
of the caller's database transaction.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, Table, and_, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from foreseal.payments.chain import FinalityBroken, Transfer
from foreseal.payments.ledger import (
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
from foreseal.payments.ledger.tables import Purpose, Reason, authorizations, orders, transfers, unmatched_transfers
from foreseal.payments.ledger.timeline import record_entry
from foreseal.payments.transactions import close_included

T = TypeVar("T")
TransferKey = tuple[str, int]
"""Transaction hash, and position of the Transfer among the transaction's logs."""

_LATE = (OrderState.VOIDED, OrderState.CANCELED, OrderState.EXPIRED)


@dataclass(frozen=True, slots=True)
class ObservedTransfer:
    """A transfer to the merchant on the chain."""

    chain_id: int
    transfer: Transfer
    step: StatusStep
    """PROVISIONAL, CONFIRMED or FINAL."""

    def values(self) -> dict[str, Any]:
        """Return the columns of its row, except the order."""
        log = self.transfer.log
        return {
            "chain_id": self.chain_id,
            "transaction_hash": log.transaction_hash,
            "position": self.transfer.position,
            "block_hash": log.block_hash,
            "log_index": log.log_index,
            "block_number": log.block_number,
            "token": log.address,
            "sender": self.transfer.sender,
            "recipient": self.transfer.recipient,
            "amount": self.transfer.amount,
            "nonce": self.transfer.nonce,
            "memo": self.transfer.memo,
            "checkout": self.transfer.checkout,
            "step": self.step,
        }

    @property
    def key(self) -> TransferKey:
        """Transaction hash and position, which identify the transfer on its chain."""
        return self.transfer.log.transaction_hash, self.transfer.position


# Columns of the primary key.
_KEY = ("chain_id", "transaction_hash", "position")
# Values per query.
_CHUNK_SIZE = 500
# Columns that identify the content: after a reorganization, the same key may have a different transfer.
_CONTENT = ("token", "sender", "recipient", "amount", "nonce", "memo", "checkout")


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
        values = each.values()
        row = stored.get(each.key)
        if row is not None and any(getattr(row, name) != values[name] for name in _CONTENT):
            remove_transfer(ledger, tx, row)
            row = None
        if row is None:
            new.append(each)
        elif row.step is not Finality.FINAL:
            changed.append(each)
        elif row.block_hash != values["block_hash"]:
            raise FinalityBroken(f"transfer {row.transaction_hash}: its final block {row.block_hash} is gone")
    _update(ledger, tx, changed, stored)
    _insert(ledger, tx, new)


def _stored(tx: Connection, observed: Sequence[ObservedTransfer]) -> dict[TransferKey, Row[Any]]:
    """Return the rows of these transfers, locked."""
    found: dict[TransferKey, Row[Any]] = {}
    if not observed:
        return found
    chain_id = transfers.c.chain_id == observed[0].chain_id
    for hashes in _chunks(sorted({each.transfer.log.transaction_hash for each in observed})):
        query = select(transfers).where(chain_id, transfers.c.transaction_hash.in_(hashes))
        for row in tx.execute(query.with_for_update()):
            found[row.transaction_hash, row.position] = row
    return found


def _update(
    ledger: Ledger, tx: Connection, changed: Sequence[ObservedTransfer], stored: Mapping[TransferKey, Row[Any]]
) -> None:
    """Write the new positions of recorded transfers, and let their orders follow."""
    if not changed:
        return
    names = ("block_hash", "log_index", "block_number", "step")
    setting = update(transfers).values({name: bindparam(f"new_{name}") for name in names})
    setting = setting.where(*(transfers.c[name] == bindparam(f"old_{name}") for name in _KEY))
    writes = []
    for each in changed:
        values = each.values()
        writes.append({f"old_{name}": values[name] for name in _KEY} | {f"new_{name}": values[name] for name in names})
    tx.execute(setting, writes)
    steps: dict[StatusStep, dict[str, str]] = {}
    for each in changed:
        order_id = stored[each.key].order_id
        if order_id is not None:
            steps.setdefault(each.step, {})[order_id] = each.transfer.log.transaction_hash
    for step, paid in steps.items():
        follow_orders(ledger, tx, paid, step)


def move_transfers(ledger: Ledger, tx: Connection, rows: Sequence[Row[Any]], step: StatusStep) -> None:
    """Move transfers that are on the chain in the same blocks to another step, and let their orders follow.

    A row that another process changed since it was read is left to it.
    """
    current: list[Row[Any]] = []
    for chunk in _chunks(rows):
        read = {(row.transaction_hash, row.position): row for row in chunk}
        hashes = sorted({row.transaction_hash for row in chunk})
        same = (transfers.c.chain_id == chunk[0].chain_id) & transfers.c.transaction_hash.in_(hashes)
        for row in tx.execute(select(transfers).where(same).with_for_update()):
            before = read.get((row.transaction_hash, row.position))
            if before is not None and (before.block_hash, before.step) == (row.block_hash, row.step):
                current.append(row)
    if not current:
        return
    setting = update(transfers).values(step=bindparam("new_step"))
    setting = setting.where(*(transfers.c[name] == bindparam(f"old_{name}") for name in _KEY))
    tx.execute(setting, [{f"old_{name}": row._mapping[name] for name in _KEY} | {"new_step": step} for row in current])
    paid = {row.order_id: row.transaction_hash for row in current if row.order_id is not None}
    follow_orders(ledger, tx, paid, step)


def follow_orders(ledger: Ledger, tx: Connection, paid: Mapping[str, str], step: StatusStep) -> None:
    """Move captured orders to the step of their transfers. `paid` has the hash of the transaction of each order.

    An order that becomes final needs no tracking of the own transaction that captured it.
    """
    rows = locked_all(tx, orders, list(paid))
    ledger.follow_all(tx, orders, rows, step, {})
    if step is Finality.FINAL:
        for ids in _chunks([row.id for row in rows]):
            close_included(tx, Purpose.CAPTURE, {id: paid[id] for id in ids})


def _insert(ledger: Ledger, tx: Connection, new: Sequence[ObservedTransfer]) -> None:
    """Insert new transfers and match them to orders."""
    if not new:
        return
    try:
        tx.execute(insert(transfers), [each.values() for each in new])
    except IntegrityError as error:
        raise ConcurrentUpdate("a transfer was recorded by another process") from error
    plain = _plain_captures(tx, new)
    for each in new:
        if each.key not in plain:
            _match(ledger, tx, each)
    _capture(ledger, tx, [(each, plain[each.key]) for each in new if each.key in plain])


def _plain_captures(tx: Connection, new: Sequence[ObservedTransfer]) -> dict[TransferKey, Row[Any]]:
    """Return the orders of transfers that use the authorization of an order which nothing else in `new` refers to.

    All others are matched one by one, in the order of the chain.
    """
    by_authorization = _find_by_authorizations(tx, new)
    memos = [each.transfer.memo for each in new if each.transfer.memo is not None]
    disputed = {row.id for row in tx.execute(select(orders.c.id).where(orders.c.memo.in_(memos)))} if memos else set()
    counts = Counter(by_authorization.values())
    ids = [id for id, count in counts.items() if count == 1 and id not in disputed]
    rows = {row.id: row for row in locked_all(tx, orders, ids)}
    paid: set[str] = set()
    for chunk in _chunks(ids):
        paid |= set(tx.execute(select(transfers.c.order_id).where(transfers.c.order_id.in_(chunk))).scalars())
    found: dict[TransferKey, Row[Any]] = {}
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
    columns = authorizations.c
    for nonces in _chunks([nonce for _, _, nonce in wanted]):
        same = (columns.chain_id == new[0].chain_id) & columns.nonce.in_(nonces)
        for row in tx.execute(select(authorizations).where(same)):
            key = wanted.get((row.contract, row.payer, bytes(row.nonce)))
            if key is not None:
                found[key] = row.order_id
    return found


def _capture(ledger: Ledger, tx: Connection, captured: Sequence[tuple[ObservedTransfer, Row[Any]]]) -> None:
    """Record that these transfers captured these orders, which are locked."""
    if not captured:
        return
    setting = update(transfers).values(order_id=bindparam("paid_order"))
    setting = setting.where(*(transfers.c[name] == bindparam(f"old_{name}") for name in _KEY))
    tx.execute(
        setting,
        [{f"old_{name}": each.values()[name] for name in _KEY} | {"paid_order": order.id} for each, order in captured],
    )
    details = {
        order.id: {"transaction": each.transfer.log.transaction_hash, "block": each.transfer.log.block_hash}
        for each, order in captured
    }
    ledger.move_all(tx, orders, [order for _, order in captured], Trigger.LANDED, details)
    steps: dict[StatusStep, dict[str, str]] = {}
    for each, order in captured:
        if each.step is not Finality.PROVISIONAL:
            steps.setdefault(each.step, {})[order.id] = each.transfer.log.transaction_hash
    for step, paid in steps.items():
        follow_orders(ledger, tx, paid, step)


def remove_transfer(ledger: Ledger, tx: Connection, row: Row[Any]) -> None:
    """Delete a transfer that left the chain, and reopen its order. Raises `FinalityBroken`."""
    if row.step is Finality.FINAL:
        raise FinalityBroken(f"transfer {row.transaction_hash}: it was in the final block {row.block_hash}")
    key = row._mapping
    if row.order_id is not None:
        order = locked(tx, orders, row.order_id)
        ledger.move(tx, orders, order, Trigger.REOPEN, transaction=row.transaction_hash, block=row.block_hash)
    tx.execute(delete(unmatched_transfers).where(_key(unmatched_transfers, key)))
    tx.execute(delete(transfers).where(_key(transfers, key)))


def _match(ledger: Ledger, tx: Connection, observed: ObservedTransfer) -> None:
    """Match a new transfer to its order, or add it to `unmatched_transfers`."""
    transfer, order = observed.transfer, None
    by_authorization = False
    if transfer.nonce is not None:
        order = _find_by_authorization(tx, observed)
        by_authorization = order is not None
    if order is None and transfer.memo is not None:
        order = _find_by_memo(tx, observed)
    if order is None:
        _suspend(tx, observed, Reason.UNMATCHED, None)
        return
    before = tx.execute(select(transfers).where(transfers.c.order_id == order.id)).one_or_none()
    if (
        by_authorization
        and before is not None
        and (before.nonce, before.checkout) == (transfer.nonce, transfer.checkout)
    ):
        # Each nonce allows one transfer, so the earlier one belongs to a chain that was reorganized away.
        remove_transfer(ledger, tx, before)
        order, before = locked(tx, orders, order.id), None
    reason = _reason(order, before, transfer, by_authorization=by_authorization)
    if reason is not None:
        _suspend(tx, observed, reason, order.id)
        status, log = str(OrderStatus(order.state, order.step)), transfer.log
        details = {"reason": reason, "transaction": log.transaction_hash, "amount": str(transfer.amount)}
        record_entry(tx, TimelineEntry(orders.name, order.id, ledger.clock(), "suspense", status, status, details))
        return
    tx.execute(update(transfers).where(_key(transfers, observed.values())).values(order_id=order.id))
    details = {"transaction": transfer.log.transaction_hash, "block": transfer.log.block_hash}
    if order.checkout is not None:
        # If the ledger was restored from an older database, the amount may differ from the one decided here.
        tx.execute(update(orders).where(orders.c.id == order.id).values(actual=transfer.amount))
    order = ledger.move(tx, orders, order, Trigger.LANDED, **details)
    ledger.follow(tx, orders, order, observed.step)


def _find_by_authorization(tx: Connection, observed: ObservedTransfer) -> Row[Any] | None:
    same = and_(
        authorizations.c.chain_id == observed.chain_id,
        authorizations.c.contract == (observed.transfer.checkout or observed.transfer.log.address),
        authorizations.c.payer == observed.transfer.sender,
        authorizations.c.nonce == observed.transfer.nonce,
    )
    found = tx.execute(select(authorizations.c.order_id).where(same)).scalar_one_or_none()
    return None if found is None else locked(tx, orders, found)


def _find_by_memo(tx: Connection, observed: ObservedTransfer) -> Row[Any] | None:
    same = and_(
        orders.c.chain_id == observed.chain_id,
        orders.c.token == observed.transfer.log.address,
        orders.c.memo == observed.transfer.memo,
    )
    return tx.execute(select(orders).where(same).with_for_update()).one_or_none()


def _reason(order: Row[Any], before: Row[Any] | None, transfer: Transfer, *, by_authorization: bool) -> Reason | None:
    """Return the reason why a transfer does not pay the order that it refers to; None if it does."""
    if before is not None:
        return Reason.DUPLICATE
    if order.state in _LATE:
        return Reason.LATE
    captured = by_authorization and order.checkout is not None
    if transfer.amount != order.amount and not (captured and transfer.amount < order.amount):
        return Reason.UNDERPAID if transfer.amount < order.amount else Reason.OVERPAID
    if not by_authorization or order.state is not OrderState.STORED or transfer.recipient != order.payee:
        return Reason.DIRECT
    return None


def _suspend(tx: Connection, observed: ObservedTransfer, reason: Reason, order: str | None) -> None:
    key = {name: observed.values()[name] for name in _KEY}
    tx.execute(insert(unmatched_transfers).values(**key, reason=reason, order_id=order))


def _chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Split the values of a query; databases limit their number."""
    for first in range(0, len(values), _CHUNK_SIZE):
        yield values[first : first + _CHUNK_SIZE]


def _key(table: Table, values: Any) -> Any:
    return and_(*(table.c[name] == values[name] for name in _KEY))
