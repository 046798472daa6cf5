"""JSON views of ledger rows. `schemas` describes the same objects as JSON Schema."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Table, select

from foreseal.payments.amounts import to_tokens
from foreseal.payments.api.events import OBJECTS, event, event_id, refined
from foreseal.payments.api.tables import DeliveryState, resolutions
from foreseal.payments.configuration import TokenSection
from foreseal.payments.ledger import DisbursementState, OrderStatus
from foreseal.payments.ledger.tables import (
    Purpose,
    attempts,
    payout_legs,
    refunds,
    timeline,
    transactions,
    transfers,
)
from foreseal.payments.orders.authorizations import SignedOrder
from foreseal.payments.orders.payments import StoredPayment

JsonView = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Views:
    """Converter of rows to JSON, with amounts shown in the token's units."""

    token: TokenSection

    def money(self, amount: int, name: str = "amount") -> JsonView:
        """Return an amount as an exact integer and as formatted text."""
        return {name: str(amount), f"{name}_shown": f"{to_tokens(amount, self.token.decimals):f} {self.token.symbol}"}

    def orders(self, tx: Connection, rows: Sequence[Row[Any]]) -> list[JsonView]:
        """Return orders with payment and refunds, in the order of `rows`."""
        ids = [row.id for row in rows]
        paid = {row.order_id: row for row in tx.execute(select(transfers).where(transfers.c.order_id.in_(ids)))}
        counting = refunds.c.order_id.in_(ids) & (refunds.c.state != DisbursementState.BLOCKED)
        refunded: dict[str, int] = dict.fromkeys(ids, 0)
        for order_id, amount in tx.execute(select(refunds.c.order_id, refunds.c.amount).where(counting)):
            refunded[order_id] += amount
        begun = select(timeline.c.subject_id, timeline.c.time).where(
            timeline.c.subject == "orders", timeline.c.subject_id.in_(ids), timeline.c.before.is_(None)
        )
        created = {row.subject_id: row.time for row in tx.execute(begun)}
        return [
            self._order(
                row, OrderStatus(row.state, row.step), row.memo, created[row.id], paid.get(row.id), refunded[row.id]
            )
            for row in rows
        ]

    def new_order(self, stored: StoredPayment) -> JsonView:
        """Return an order that was stored just now."""
        return self._order(stored.payment, stored.status, stored.memo, stored.created, None, 0)

    def order(self, tx: Connection, row: Row[Any]) -> JsonView:
        """Return one order with payment and refunds."""
        return self.orders(tx, [row])[0]

    def _order(
        self, order: SignedOrder, status: OrderStatus, memo: bytes, created: int, paid: Row[Any] | None, refunded: int
    ) -> JsonView:
        return {
            "id": order.id,
            "state": status.state,
            **refined(status.step),
            "chain_id": order.chain_id,
            "token": order.token,
            "payer": order.payer,
            "payee": order.payee,
            **self.money(order.amount),
            "checkout": order.checkout,
            "valid_after": order.valid_after,
            "valid_before": order.valid_before,
            "nonce": _hex(order.nonce),
            "memo": _hex(memo),
            "created": created,
            "payment": None if paid is None else self._payment(paid),
            **self.money(refunded, "refunded"),
        }

    def _payment(self, row: Row[Any]) -> JsonView:
        return self._transfer(row) | {"block_hash": row.block_hash}

    def _transfer(self, row: Row[Any]) -> JsonView:
        return {
            "transaction_hash": row.transaction_hash,
            "log_index": row.log_index,
            "position": row.position,
            "block_number": row.block_number,
            "sender": row.sender,
            "finality": row.step,
            **self.money(row.amount),
        }

    def refund(self, row: Row[Any]) -> JsonView:
        """Return a refund."""
        names = ("id", "order_id", "state", "chain_id", "token", "recipient")
        return {name: getattr(row, name) for name in names} | refined(row.step) | self.money(row.amount)

    def payouts(self, tx: Connection, rows: Sequence[Row[Any]]) -> list[JsonView]:
        """Return payouts with their recipients."""
        condition = payout_legs.c.payout_id.in_([row.id for row in rows])
        legs: dict[str, list[Row[Any]]] = {row.id: [] for row in rows}
        for leg in tx.execute(select(payout_legs).where(condition).order_by(payout_legs.c.position)):
            legs[leg.payout_id].append(leg)
        names = ("id", "state", "chain_id", "token", "contract")
        return [
            {name: getattr(row, name) for name in names}
            | refined(row.step)
            | self.money(sum(leg.amount for leg in legs[row.id]))
            | {"recipients": [{"recipient": leg.recipient} | self.money(leg.amount) for leg in legs[row.id]]}
            for row in rows
        ]

    def unmatched(self, tx: Connection, rows: Sequence[Row[Any]]) -> list[JsonView]:
        """Return unmatched transfers: rows of `unmatched_transfers` joined with `transfers`."""
        hashes = [row.transaction_hash for row in rows]
        done = {
            (row.transaction_hash, row.position): {"note": row.note, "by": row.resolved_by, "time": row.time}
            for row in tx.execute(select(resolutions).where(resolutions.c.transaction_hash.in_(hashes)))
        }
        return [
            self._transfer(row)
            | {
                "reason": row.reason,
                "order_id": row.intended_order,
                "resolution": done.get((row.transaction_hash, row.position)),
            }
            for row in rows
        ]


def list_events(tx: Connection, table: Table, id: str) -> list[JsonView]:
    """Return the timeline of one row, oldest entry first."""
    condition = (timeline.c.subject == table.name) & (timeline.c.subject_id == id)
    return [event(row) for row in tx.execute(select(timeline).where(condition).order_by(timeline.c.id))]


def list_transactions(tx: Connection, subject: str, *purposes: Purpose) -> list[JsonView]:
    """Return the signed transactions of one row, oldest first, each with the hashes of its attempts."""
    condition = transactions.c.purpose.in_(purposes) & (transactions.c.subject == subject)
    found = list(tx.execute(select(transactions).where(condition).order_by(transactions.c.id)))
    hashes: dict[int, list[str]] = {row.id: [] for row in found}
    tried = attempts.c.transaction_id.in_(hashes)
    for row in tx.execute(select(attempts).where(tried).order_by(attempts.c.transaction_id, attempts.c.ordinal)):
        hashes[row.transaction_id].append(row.hash)
    return [
        {"purpose": row.purpose, "account_nonce": row.account_nonce, "hashes": hashes[row.id], "result": row.ending}
        for row in found
    ]


def webhook(row: Row[Any]) -> JsonView:
    """Return a webhook's target, without its secret."""
    return {name: getattr(row, name) for name in ("id", "url", "origin", "created", "retired")}


def delivery(row: Row[Any]) -> JsonView:
    """Return one event's delivery to one target."""
    return {
        "id": row.id,
        "webhook_id": row.hook_id,
        "event_id": event_id(row.entry_id),
        "object": OBJECTS[row.subject],
        "object_id": row.subject_id,
        "state": row.state,
        "attempts": row.attempts,
        "next_attempt": int(row.due) if row.state is DeliveryState.WAITING else None,
        "last_error": row.error or None,
    }


def _hex(value: bytes) -> str:
    return "0x" + value.hex()
