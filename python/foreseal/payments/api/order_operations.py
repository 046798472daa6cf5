"""Operations of the queue on orders: each request's outcome with the order as its response shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Self

from sqlalchemy import Connection

from foreseal.payments.api.backend import Backend
from foreseal.payments.api.responses import OrderDetail
from foreseal.payments.api.views import Views, list_transactions
from foreseal.payments.destinations.order_operations import AtDestination, Checked, Item, OrderOperation, Outcome
from foreseal.payments.group_operation import ItemResult
from foreseal.payments.ledger import read_all
from foreseal.payments.ledger.models import OrderRecord, Purpose
from foreseal.payments.orders.acceptances import PayerSignature
from foreseal.payments.orders.auto_captures import AcceptedOrder, CheckedAcceptance
from foreseal.payments.orders.captures import CaptureRequest, CheckedCapture, DecidedCapture
from foreseal.payments.orders.payment_groups import PaymentGroups

_PURPOSES = (Purpose.CAPTURE, Purpose.CAPTURE_BATCH, Purpose.CANCEL)


@dataclass(frozen=True, slots=True)
class DetailedOutcome(Generic[Outcome]):
    """The outcome of an operation on an order."""

    outcome: AtDestination[Outcome]
    order: OrderRecord
    detail: OrderDetail


@dataclass(frozen=True, slots=True)
class DetailedOperation(Generic[Item, Checked, Outcome]):
    """An operation on orders, which reads the orders of a group together for their responses."""

    operation: OrderOperation[Item, Checked, Outcome]
    views: Views

    def check(self, items: Sequence[Item]) -> list[ItemResult[AtDestination[Checked]]]:
        """Return the checked items, or the exceptions that reject them."""
        return self.operation.check(items)

    def store(
        self, tx: Connection, checked: Sequence[AtDestination[Checked]]
    ) -> list[DetailedOutcome[Outcome] | Exception]:
        """Store checked items. Return a `DetailedOutcome` for each, or the exception against it."""
        outcomes = self.operation.store(tx, checked)
        orders = read_all(tx, OrderRecord, [each.value.id for each in outcomes if not isinstance(each, Exception)])
        details = order_details(tx, self.views, orders)
        rows = {order.id: order for order in orders}
        return [
            each if isinstance(each, Exception) else DetailedOutcome(each, rows[each.value.id], details[each.value.id])
            for each in outcomes
        ]

    def send(self, outcomes: Sequence[DetailedOutcome[Outcome]]) -> None:
        """Send the transactions of stored items."""
        self.operation.send([each.outcome for each in outcomes])


@dataclass(frozen=True, slots=True)
class OrderOperations:
    """All operations of the queue."""

    payments: PaymentGroups
    signatures: DetailedOperation[PayerSignature, CheckedAcceptance, AcceptedOrder]
    captures: DetailedOperation[CaptureRequest, CheckedCapture, DecidedCapture]

    @classmethod
    def build(cls, backend: Backend, views: Views) -> Self:
        """Return the operations of a backend."""
        database, destinations = backend.database, backend.destinations
        return cls(
            backend.payments,
            DetailedOperation(OrderOperation(database, destinations, lambda each: each.auto_captures), views),
            DetailedOperation(OrderOperation(database, destinations, lambda each: each.captures), views),
        )


def order_details(tx: Connection, shown: Views, orders: Sequence[OrderRecord]) -> dict[str, OrderDetail]:
    """Return orders with their transactions, by id."""
    if not orders:
        return {}
    subjects = {
        order.id: {order.id} if order.capture_batch is None else {order.id, order.capture_batch} for order in orders
    }
    transactions = list_transactions(tx, subjects, *_PURPOSES)
    return {view["id"]: {"order": view, "transactions": transactions[view["id"]]} for view in shown.orders(tx, orders)}
