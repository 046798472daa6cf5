"""View of an order for its shopper. It contains nothing else of the merchant."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from foreseal.payments.api.backend import Backend
from foreseal.payments.api.checkout.responses import ChainStatus, CheckoutOrder, CheckoutStatus
from foreseal.payments.api.checkout.settings import CheckoutSettings
from foreseal.payments.api.health_responses import Health
from foreseal.payments.api.views import Views
from foreseal.payments.ledger import Finality, OrderState, TxStatus, read
from foreseal.payments.ledger.models import OrderRecord, TransferRecord
from foreseal.payments.ledger.queries import fetch_each
from foreseal.payments.ledger.states import StatusStep
from foreseal.payments.orders.merchant_data import parse_metadata

# Entry of an order's metadata that shoppers see.
_DESCRIPTION = "description"
# Seconds after which the newest block counts as old.
_OLD_BLOCK = 90.0
_NODE_REASONS = frozenset({"node_unreachable", "no_block", "wrong_chain"})
_CAPTURED = {
    Finality.PROVISIONAL: CheckoutStatus.PRECONFIRMED,
    Finality.CONFIRMED: CheckoutStatus.CONFIRMED,
    Finality.FINAL: CheckoutStatus.FINAL,
}
_ENDED = {
    OrderState.VOIDED: CheckoutStatus.CANCELED,
    OrderState.CANCELED: CheckoutStatus.CANCELED,
    OrderState.EXPIRED: CheckoutStatus.EXPIRED,
}


@dataclass(frozen=True, slots=True)
class CheckoutViews:
    """Converter of orders to their views for shoppers."""

    backend: Backend
    settings: CheckoutSettings
    views: Views

    def status(self, order: OrderRecord) -> CheckoutStatus:
        """Return the status of an order at the time of the service."""
        if order.state is OrderState.CAPTURED:
            return _CAPTURED[Finality(order.step)]
        if order.state in _ENDED:
            return _ENDED[order.state]
        if order.state is OrderState.DRAFTED:
            ends = self.backend.clock() >= self._pay_before(order)
            return CheckoutStatus.EXPIRED if ends else CheckoutStatus.OPEN
        return _uncaptured(order.step)

    def read(self, tx: Connection, id: str, health: Health) -> CheckoutOrder:
        """Return the view of an order. Raises `UnknownRecord`. `health` is that of the service."""
        row = read(tx, OrderRecord, id)
        return self.order(row, health, _transaction(tx, id) if row.state is OrderState.CAPTURED else None)

    def order(self, row: OrderRecord, health: Health, transaction: str | None = None) -> CheckoutOrder:
        """Return the view of a row, with the hash of the transaction that paid it."""
        section = self.settings.section
        destination = self.backend.destinations.find(row.token, row.payee)
        label = None if destination is None else destination.label
        return {
            "id": row.id,
            "status": self.status(row),
            "version": version(row),
            "merchant_name": section.merchant_name,
            "description": parse_metadata(row.metadata_json).get(_DESCRIPTION),
            "amount": str(row.amount),
            "amount_shown": self.views.shown(row.amount, row.token),
            "is_maximum": row.checkout is not None,
            "token": {
                "address": row.token,
                "symbol": "" if label is None else label.token.symbol,
                "decimals": 0 if label is None else label.token.decimals,
                "name": "" if label is None else label.token.name,
            },
            "network": {
                "chain_id": row.chain_id,
                "name": section.network_name or f"Chain {row.chain_id}",
                "rpc_url": section.rpc_url,
                "explorer_url": section.explorer_url,
            },
            "payee": row.payee,
            "spender": row.checkout,
            "payer": row.payer,
            "valid_before": row.valid_before,
            "pay_before": self._pay_before(row),
            "now": int(self.backend.clock()),
            "is_delayed": row.last_error is not None and row.state is OrderState.STORED,
            "transaction_hash": transaction,
            "chain_status": chain_status(health),
            "success_url": self.settings.return_url(row.success_url),
            "cancel_url": self.settings.return_url(row.cancel_url),
            "message_origins": list(section.origins),
            "pretend_wallet": section.pretend_wallet,
        }

    def _pay_before(self, order: OrderRecord) -> int:
        return max(0, order.valid_before - self.backend.configuration.policy.margin_seconds)


def version(order: OrderRecord) -> str:
    """Return a text that changes with each change that a shopper can see."""
    changing = (order.state.value, order.step.value, order.payer, order.last_error is None)
    return hashlib.sha256(repr(changing).encode()).hexdigest()[:16]


def versions(tx: Connection, ids: Sequence[str]) -> dict[str, str]:
    """Return the versions of orders by id, with one query."""
    return {row.id: version(row) for row in fetch_each(tx, select(OrderRecord).where(OrderRecord.id.in_(ids)))}


def chain_status(health: Health) -> ChainStatus:
    """Return the status of the node from the health of the service."""
    if any(each["code"] in _NODE_REASONS for each in health["reasons"]):
        return ChainStatus.UNREACHABLE
    age = health["node"]["block_age"]
    return ChainStatus.BEHIND if age is not None and age > _OLD_BLOCK else ChainStatus.OK


def _uncaptured(step: StatusStep) -> CheckoutStatus:
    if step is TxStatus.IDLE:
        return CheckoutStatus.AUTHORIZED
    return CheckoutStatus.FAILED if step is TxStatus.FAILED else CheckoutStatus.PROCESSING


def _transaction(tx: Connection, id: str) -> str | None:
    query = select(TransferRecord.transaction_hash).where(TransferRecord.order_id == id)
    return tx.execute(query).scalar_one_or_none()
