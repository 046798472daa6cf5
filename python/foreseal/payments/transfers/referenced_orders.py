"""Orders that transfers refer to by authorization, nonce or memo, and reasons why a transfer does not pay its order."""

from collections.abc import Sequence
from typing import Protocol

from sqlalchemy import Connection, and_, or_, select

from foreseal.payments.chain import Transfer
from foreseal.payments.ledger import OrderState, locked
from foreseal.payments.ledger.models import AuthorizationRecord, OrderRecord, Reason, TransferRecord
from foreseal.payments.ledger.queries import chunks, fetch_each, fetch_one_or_none
from foreseal.payments.transfers.observed_transfer import ObservedTransfer, TransferKey

ENDED = (OrderState.VOIDED, OrderState.CANCELED, OrderState.EXPIRED)
"""States of orders that are never paid."""


class PayableTerms(Protocol):
    """Terms of an order that a transfer must fulfil."""

    @property
    def amount(self) -> int: ...
    @property
    def checkout(self) -> str | None: ...


def find_by_authorizations(tx: Connection, new: Sequence[ObservedTransfer]) -> dict[TransferKey, str]:
    """Return the ids of the orders whose authorizations these transfers use."""
    wanted = {
        (each.transfer.checkout or each.transfer.log.address, each.transfer.sender, each.transfer.nonce): each.key
        for each in new
        if each.transfer.nonce is not None
    }
    order_ids: dict[TransferKey, str] = {}
    for nonces in chunks([nonce for _, _, nonce in wanted]):
        same = (AuthorizationRecord.chain_id == new[0].chain_id) & AuthorizationRecord.nonce.in_(nonces)
        for row in fetch_each(tx, select(AuthorizationRecord).where(same)):
            key = wanted.get((row.contract, row.payer, bytes(row.nonce)))
            if key is not None and row.order_id is not None:
                order_ids[key] = row.order_id
    return order_ids


def find_by_nonce(tx: Connection, observed: ObservedTransfer) -> tuple[OrderRecord | None, bool]:
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
    order_id = tx.execute(select(AuthorizationRecord.order_id).where(same)).scalar_one_or_none()
    return None if order_id is None else locked(tx, OrderRecord, order_id)


def find_by_memo(tx: Connection, observed: ObservedTransfer) -> OrderRecord | None:
    same = and_(
        OrderRecord.chain_id == observed.chain_id,
        OrderRecord.token == observed.transfer.log.address,
        OrderRecord.memo == observed.transfer.memo,
    )
    return fetch_one_or_none(tx, select(OrderRecord).where(same).with_for_update())


def unpaid_reason(
    order: OrderRecord, before: TransferRecord | None, transfer: Transfer | TransferRecord, *, by_authorization: bool
) -> Reason | None:
    """Return the reason why a transfer does not pay the order that it refers to; None if it does."""
    if before is not None:
        return Reason.DUPLICATE
    if order.state in ENDED:
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
