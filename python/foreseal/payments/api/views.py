"""JSON views of ledger rows. `responses` has their types."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol, cast

from sqlalchemy import Connection, select

from foreseal.payments.amounts import format_tokens
from foreseal.payments.api.models import ApiKeyRecord, DeliveryRecord, DeliveryState, WebhookRecord
from foreseal.payments.api.responses import (
    ApiKeyView,
    Arrival,
    DeliveryView,
    Money,
    OrderView,
    Origin,
    PaymentView,
    PayoutPreview,
    PayoutView,
    RefinedStatus,
    RefundedTransferView,
    RefundView,
    Resolution,
    TransactionView,
    TransferView,
    UnmatchedTransferView,
    WebhookView,
)
from foreseal.payments.destinations.label import DestinationLabels
from foreseal.payments.disbursements.payouts import read_payees
from foreseal.payments.disbursements.refunds import RefundedTransfer, refund_receivers
from foreseal.payments.ledger import EFFECTED, DisbursementState, OrderStatus
from foreseal.payments.ledger.event_types import OBJECTS, event_id, event_type
from foreseal.payments.ledger.models import (
    AttemptRecord,
    OrderRecord,
    PayoutLegRecord,
    PayoutRecord,
    Purpose,
    Reason,
    RefundRecord,
    ResolutionRecord,
    TimelineRecord,
    TransactionRecord,
    TransferRecord,
)
from foreseal.payments.ledger.queries import fetch_all, fetch_each
from foreseal.payments.ledger.states import StatusStep, TxStatus
from foreseal.payments.orders.merchant_data import parse_metadata
from foreseal.payments.orders.new_orders import StoredOrder
from foreseal.payments.orders.terms import SignedOrder

JsonView = dict[str, object]

CHANGING_FIELDS = ("last_error", "payment", "refunded", "refunded_shown")
"""Fields of an order that may change after an event, in addition to its status."""


class ShownOrder(SignedOrder, Protocol):
    """Terms of an order, and the merchant's data."""

    @property
    def reference(self) -> str | None: ...
    @property
    def metadata_json(self) -> str | None: ...
    @property
    def auto_capture(self) -> bool: ...
    @property
    def last_error(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class UnmatchedTransfer:
    """A transfer that pays neither an order nor an x402 response."""

    transfer: TransferRecord
    reason: Reason
    order_id: str | None
    """Order that it refers to."""


@dataclass(frozen=True, slots=True)
class Views:
    """Converter of rows to JSON, with amounts shown in the units of their token."""

    labels: DestinationLabels

    def money(self, amount: int, token: str) -> Money:
        """Return an amount as an exact integer and as formatted text."""
        return {"amount": str(amount), "amount_shown": self.shown(amount, token)}

    def shown(self, amount: int, token: str) -> str:
        """Return an amount as formatted text; in smallest units if the token is not configured."""
        token_label = self.labels.token(token)
        if token_label is None:
            return f"{amount} smallest units"
        return f"{format_tokens(amount, token_label.decimals)} {token_label.symbol}"

    def arrival(self, token: str, receiver: str) -> Arrival:
        """Return the destination at which a transfer of a token to an account arrives."""
        label, token_label = self.labels.find(token, receiver), self.labels.token(token)
        return {
            "destination": None if label is None else label.name,
            "token": token,
            "symbol": None if token_label is None else token_label.symbol,
            "payee": receiver,
        }

    def orders(self, tx: Connection, rows: Sequence[OrderRecord]) -> list[OrderView]:
        """Return orders with payment and refunds, in the order of `rows`."""
        ids = [row.id for row in rows]
        paid = {
            row.order_id: row for row in fetch_each(tx, select(TransferRecord).where(TransferRecord.order_id.in_(ids)))
        }
        counting = RefundRecord.order_id.in_(ids) & (RefundRecord.state != DisbursementState.BLOCKED)
        refunded: dict[str, int] = dict.fromkeys(ids, 0)
        for order_id, amount in tx.execute(select(RefundRecord.order_id, RefundRecord.amount).where(counting)):
            if order_id is not None:
                refunded[order_id] += amount
        return [
            self._order(
                row, OrderStatus(row.state, row.step), row.memo, row.created, paid.get(row.id), refunded[row.id]
            )
            for row in rows
        ]

    def new_order(self, stored: StoredOrder) -> OrderView:
        """Return an order that was stored just now."""
        return self._order(stored.order, stored.status, stored.memo, stored.created, None, 0)

    def order(self, tx: Connection, row: OrderRecord) -> OrderView:
        """Return one order with payment and refunds."""
        return self.orders(tx, [row])[0]

    def order_constants(self, row: OrderRecord) -> JsonView:
        """Return an order without the fields that may change after an event: its payment and refunds."""
        view = self._order(row, OrderStatus(row.state, row.step), row.memo, row.created, None, 0)
        return {name: value for name, value in view.items() if name not in CHANGING_FIELDS}

    def _order(
        self,
        order: ShownOrder,
        status: OrderStatus,
        memo: bytes,
        created: int,
        paid: TransferRecord | None,
        refunded: int,
    ) -> OrderView:
        return {
            "id": order.id,
            "state": status.state,
            **refined(status.step),
            "chain_id": order.chain_id,
            **self.arrival(order.token, order.payee),
            "payer": order.payer,
            **self.money(order.amount, order.token),
            "checkout": order.checkout,
            "valid_after": order.valid_after,
            "valid_before": order.valid_before,
            "nonce": _hex(order.nonce),
            "memo": _hex(memo),
            "created": created,
            "reference": order.reference,
            "metadata": parse_metadata(order.metadata_json),
            "auto_capture": order.auto_capture,
            "last_error": None if status.step in EFFECTED else order.last_error,
            "payment": None if paid is None else self._payment(paid),
            "refunded": str(refunded),
            "refunded_shown": self.shown(refunded, order.token),
        }

    def _payment(self, row: TransferRecord) -> PaymentView:
        return {**self._transfer(row), "block_hash": row.block_hash}

    def _transfer(self, row: TransferRecord) -> TransferView:
        return {
            "transaction_hash": row.transaction_hash,
            "log_index": row.log_index,
            "position": row.position,
            "block_number": row.block_number,
            **self.arrival(row.token, row.recipient),
            "sender": row.sender,
            "finality": row.step,
            **self.money(row.amount, row.token),
        }

    def refunds(self, tx: Connection, rows: Sequence[RefundRecord]) -> list[RefundView]:
        """Return refunds, in the order of `rows`."""
        receivers = refund_receivers(tx, [row.id for row in rows])
        return [self._refund(row, receivers.get(row.id)) for row in rows]

    def _refund(self, row: RefundRecord, receiver: str | None) -> RefundView:
        source = RefundedTransfer.from_refund(row)
        return {
            "id": row.id,
            "order_id": row.order_id,
            "transfer": None if source is None else cast(RefundedTransferView, asdict(source)),
            "state": row.state,
            "chain_id": row.chain_id,
            **self._origin(row.token, receiver),
            "recipient": row.recipient,
            **refined(row.step),
            **self.money(row.amount, row.token),
        }

    def _origin(self, token: str, receiver: str | None) -> Origin:
        """Return the destination that returns or pays out money which this account received."""
        arrival = self.arrival(token, receiver or "")
        label = self.labels.find(token, receiver or "")
        return cast(Origin, arrival | {"payee": None if label is None else label.payee})

    def payouts(self, tx: Connection, rows: Sequence[PayoutRecord]) -> list[PayoutView]:
        """Return payouts with their recipients."""
        ids = [row.id for row in rows]
        condition, payees = PayoutLegRecord.payout_id.in_(ids), read_payees(tx, ids)
        legs: dict[str, list[PayoutLegRecord]] = {row.id: [] for row in rows}
        for leg in fetch_each(tx, select(PayoutLegRecord).where(condition).order_by(PayoutLegRecord.position)):
            legs[leg.payout_id].append(leg)
        return [
            {
                "id": row.id,
                "state": row.state,
                "chain_id": row.chain_id,
                **self._origin(row.token, payees[row.id]),
                "contract": row.contract,
                **refined(row.step),
                **self.money(sum(leg.amount for leg in legs[row.id]), row.token),
                "recipients": [
                    {"recipient": leg.recipient, **self.money(leg.amount, row.token)} for leg in legs[row.id]
                ],
            }
            for row in rows
        ]

    def payout_preview(self, token: str, payee: str, contract: str, legs: Sequence[tuple[str, int]]) -> PayoutPreview:
        """Return a payout that is not reserved."""
        return {
            **self._origin(token, payee),
            "contract": contract,
            **self.money(sum(amount for _, amount in legs), token),
            "recipients": [{"recipient": recipient, **self.money(amount, token)} for recipient, amount in legs],
        }

    def unmatched(self, tx: Connection, rows: Sequence[UnmatchedTransfer]) -> list[UnmatchedTransferView]:
        """Return unmatched transfers with their resolutions."""
        hashes = [row.transfer.transaction_hash for row in rows]
        done: dict[tuple[str, int], Resolution] = {
            (row.transaction_hash, row.position): {"note": row.note, "by": row.resolved_by, "time": row.time}
            for row in fetch_each(tx, select(ResolutionRecord).where(ResolutionRecord.transaction_hash.in_(hashes)))
        }
        return [
            {
                **self._transfer(row.transfer),
                "reason": row.reason,
                "order_id": row.order_id,
                "resolution": done.get((row.transfer.transaction_hash, row.transfer.position)),
            }
            for row in rows
        ]


def refined(step: StatusStep) -> RefinedStatus:
    """Return finality and transaction status as two fields, of which at most one is set."""
    final = step in EFFECTED
    status = None if final or step is TxStatus.IDLE else step.value
    return cast(RefinedStatus, {"finality": step.value if final else None, "tx_status": status})


def list_transactions(
    tx: Connection, subjects: Mapping[str, Collection[str]], *purposes: Purpose
) -> dict[str, list[TransactionView]]:
    """Return the signed transactions of each object, oldest first, each with the hashes of its attempts.

    `subjects` has, by the id of the object, the subjects of its transactions.
    """
    wanted = {subject for each in subjects.values() for subject in each}
    condition = TransactionRecord.purpose.in_(purposes) & TransactionRecord.subject.in_(wanted)
    rows = fetch_all(tx, select(TransactionRecord).where(condition).order_by(TransactionRecord.id))
    hashes: dict[int, list[str]] = {row.id: [] for row in rows}
    tried = AttemptRecord.transaction_id.in_(hashes)
    for row in fetch_each(
        tx, select(AttemptRecord).where(tried).order_by(AttemptRecord.transaction_id, AttemptRecord.ordinal)
    ):
        hashes[row.transaction_id].append(row.hash)
    return {
        id: [
            {"purpose": row.purpose, "account_nonce": row.account_nonce, "hashes": hashes[row.id], "result": row.ending}
            for row in rows
            if row.subject in own
        ]
        for id, own in subjects.items()
    }


def webhook(row: WebhookRecord) -> WebhookView:
    """Return a webhook's target, without its secret."""
    return {
        "id": row.id,
        "url": row.url,
        "events": None if row.events is None else json.loads(row.events),
        "origin": row.origin,
        "created": row.created,
        "retired": row.retired,
        "previous_secret_expires": row.previous_secret_expires,
    }


def api_key(row: ApiKeyRecord) -> ApiKeyView:
    """Return an API key, without its hash."""
    return {"id": row.id, "name": row.name, "role": row.role, "created": row.created, "revoked": row.revoked}


def deliveries(tx: Connection, rows: Sequence[DeliveryRecord]) -> list[DeliveryView]:
    """Return deliveries of events to targets, in the order of `rows`."""
    wanted = select(TimelineRecord).where(TimelineRecord.id.in_({row.event_id for row in rows}))
    types = {entry.id: event_type(entry) for entry in fetch_each(tx, wanted)}
    return [_delivery(row, types[row.event_id]) for row in rows]


def _delivery(row: DeliveryRecord, type: str) -> DeliveryView:
    return {
        "id": row.id,
        "webhook_id": row.webhook_id,
        "event_id": event_id(row.event_id),
        "event_type": type,
        "object": OBJECTS[row.subject],
        "object_id": row.subject_id,
        "state": row.state,
        "attempts": row.attempts,
        "next_attempt": int(row.next_attempt) if row.state is DeliveryState.WAITING else None,
        "last_error": row.error or None,
    }


def _hex(value: bytes) -> str:
    return "0x" + value.hex()
