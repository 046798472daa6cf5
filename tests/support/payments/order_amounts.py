"""Amounts of orders."""

from foreseal.payments.ledger.models import OrderRecord


def captured_amount(order: OrderRecord) -> int | None:
    """Return the amount that a capture moves. For a permit it is the decided amount, or None before the decision."""
    return order.amount if order.checkout is None else order.actual
