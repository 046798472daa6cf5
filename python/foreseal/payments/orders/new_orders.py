"""New orders, their rows, and the authorizations that are bound to orders."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from foreseal.payments.ledger import OrderStatus
from foreseal.payments.ledger.models import AuthorizationRecord, OrderRecord
from foreseal.payments.ledger.queries import ColumnValues, chunks, fetch_each, insert_all
from foreseal.payments.orders.payers import assigned_payer
from foreseal.payments.orders.terms import SignedOrder


@dataclass(frozen=True, slots=True)
class PreparedOrder:
    """An order that is not stored yet. It has the attributes of `orders.terms.SignedOrder`."""

    id: str
    chain_id: int
    token: str
    payer: str | None
    payee: str
    amount: int
    """Amount, or the maximum of a permit, in smallest units."""
    valid_after: int
    """Unix time in seconds, exclusive."""
    valid_before: int
    """Unix time in seconds, exclusive."""
    nonce: bytes
    checkout: str | None = None
    permit_nonce: int | None = None
    signature: bytes | None = None
    reference: str | None = None
    metadata_json: str | None = None
    auto_capture: bool = False
    success_url: str | None = None
    cancel_url: str | None = None
    last_error: None = None


@dataclass(frozen=True, slots=True)
class StoredOrder:
    """A new order in the database."""

    order: PreparedOrder
    status: OrderStatus
    memo: bytes
    created: int
    """Unix time in seconds."""
    capture_batch: str | None = None
    """Batch that captures it through the batch capture contract."""


def insert_orders(tx: Connection, stored: Sequence[StoredOrder], since_blocks: Sequence[int]) -> None:
    """Insert orders, each with the earliest block that can include its authorization.

    Raises `sqlalchemy.exc.IntegrityError` if the id of one exists.
    """
    rows: list[ColumnValues] = []
    for each, since_block in zip(stored, since_blocks, strict=True):
        order = each.order
        rows.append(
            {
                OrderRecord.id: order.id,
                OrderRecord.chain_id: order.chain_id,
                OrderRecord.token: order.token,
                OrderRecord.payer: order.payer,
                OrderRecord.payee: order.payee,
                OrderRecord.amount: order.amount,
                OrderRecord.valid_after: order.valid_after,
                OrderRecord.valid_before: order.valid_before,
                OrderRecord.nonce: order.nonce,
                OrderRecord.memo: each.memo,
                OrderRecord.checkout: order.checkout,
                OrderRecord.permit_nonce: order.permit_nonce,
                OrderRecord.signature: order.signature,
                OrderRecord.since_block: since_block,
                OrderRecord.created: each.created,
                OrderRecord.reference: order.reference,
                OrderRecord.metadata_json: order.metadata_json,
                OrderRecord.auto_capture: order.auto_capture,
                OrderRecord.success_url: order.success_url,
                OrderRecord.cancel_url: order.cancel_url,
                OrderRecord.capture_batch: each.capture_batch,
                OrderRecord.state: each.status.state,
                OrderRecord.step: each.status.step,
            }
        )
    insert_all(tx, OrderRecord, rows)


def stored_ids(tx: Connection, ids: Sequence[str]) -> set[str]:
    """Return those of the ids that orders have."""
    return {
        id
        for chunk in chunks(ids)
        for id in tx.execute(select(OrderRecord.id).where(OrderRecord.id.in_(chunk))).scalars()
    }


def bind_authorizations(tx: Connection, orders: Sequence[SignedOrder]) -> None:
    """Bind the authorizations of orders to them.

    Raises `sqlalchemy.exc.IntegrityError` if another sale has one of them.
    """
    rows: list[ColumnValues] = [
        {
            AuthorizationRecord.chain_id: order.chain_id,
            AuthorizationRecord.contract: order.checkout or order.token,
            AuthorizationRecord.payer: assigned_payer(order),
            AuthorizationRecord.nonce: order.nonce,
            AuthorizationRecord.order_id: order.id,
        }
        for order in orders
    ]
    insert_all(tx, AuthorizationRecord, rows)


BoundNonce = tuple[str, str, bytes]
"""Contract, payer and nonce of an authorization that pays a sale."""

ANOTHER_ORDER = "another order"
"""Sale of an authorization, for the message of an error."""


def bound_authorizations(tx: Connection, chain_id: int, nonces: Sequence[bytes]) -> dict[BoundNonce, str]:
    """Return the authorizations with these nonces that pay a sale already, each with the kind of its sale."""
    used: dict[BoundNonce, str] = {}
    for chunk in chunks(nonces):
        query = select(AuthorizationRecord).where(
            AuthorizationRecord.chain_id == chain_id, AuthorizationRecord.nonce.in_(chunk)
        )
        for row in fetch_each(tx, query):
            sale = "an x402 payment" if row.order_id is None else ANOTHER_ORDER
            used[row.contract, row.payer, bytes(row.nonce)] = sale
    return used
