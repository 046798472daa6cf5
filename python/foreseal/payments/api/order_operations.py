"""Operations of the queue on orders: each request's outcome with the order as its response shows it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from sqlalchemy import Connection

from foreseal.payments.api.backend import Backend
from foreseal.payments.api.responses import OrderDetail
from foreseal.payments.api.views import Views, list_transactions
from foreseal.payments.destinations.destination import Destination
from foreseal.payments.destinations.order_operations import AtDestination, OrderOperation
from foreseal.payments.group_operation import GroupOperation
from foreseal.payments.ledger import read_all
from foreseal.payments.ledger.models import OrderRecord, Purpose

_PURPOSES = (Purpose.CAPTURE, Purpose.CAPTURE_BATCH, Purpose.CANCEL)


@dataclass(frozen=True, slots=True)
class DetailedOutcome:
    """The outcome of an operation on an order."""

    outcome: AtDestination
    order: OrderRecord
    detail: OrderDetail


@dataclass(frozen=True, slots=True)
class DetailedOperation:
    """An operation on orders, which reads the orders of a group together for their responses."""

    operation: GroupOperation
    views: Views

    def check(self, items: Sequence[Any]) -> list[Any]:
        """Return the checked items, or the exceptions that reject them."""
        return self.operation.check(items)

    def store(self, tx: Connection, checked: Sequence[Any]) -> list[Any]:
        """Store checked items. Return a `DetailedOutcome` for each, or the exception against it."""
        outcomes = self.operation.store(tx, checked)
        orders = read_all(tx, OrderRecord, [each.id for each in outcomes if not isinstance(each, Exception)])
        details = order_details(tx, self.views, orders)
        rows = {order.id: order for order in orders}
        return [
            each if isinstance(each, Exception) else DetailedOutcome(each, rows[each.id], details[each.id])
            for each in outcomes
        ]

    def send(self, outcomes: Sequence[DetailedOutcome]) -> None:
        """Send the transactions of stored items."""
        self.operation.send([each.outcome for each in outcomes])


@dataclass(frozen=True, slots=True)
class OrderOperations:
    """All operations of the queue."""

    payments: GroupOperation
    signatures: GroupOperation
    captures: GroupOperation

    @classmethod
    def build(cls, backend: Backend, views: Views) -> Self:
        """Return the operations of a backend."""
        return cls(
            backend.payments,
            _of_all(backend, views, lambda destination: destination.auto_captures),
            _of_all(backend, views, lambda destination: destination.captures),
        )


def _of_all(backend: Backend, views: Views, select: Callable[[Destination], GroupOperation]) -> DetailedOperation:
    return DetailedOperation(OrderOperation(backend.database, backend.destinations, select), views)


def order_details(tx: Connection, shown: Views, orders: Sequence[OrderRecord]) -> dict[str, OrderDetail]:
    """Return orders with their transactions, by id."""
    if not orders:
        return {}
    subjects = {
        order.id: {order.id} if order.capture_batch is None else {order.id, order.capture_batch} for order in orders
    }
    transactions = list_transactions(tx, subjects, *_PURPOSES)
    return {view["id"]: {"order": view, "transactions": transactions[view["id"]]} for view in shown.orders(tx, orders)}
