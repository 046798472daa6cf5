"""Orders of the demo shop, in memory: what the shop learns from webhooks."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any, Self

import orjson

from foreseal.merchant.types import Order, Refund
from foreseal.payments.demo.shop.products import PRODUCTS, Product
from foreseal.payments.ledger.states import DisbursementState, Finality, OrderState

MAX_ORDERS = 1_000
"""Orders that the shop remembers; the service has all."""


class OrderStage(StrEnum):
    """Stage of an order in the shop."""

    ORDERED = "ordered"
    PAID = "paid"
    """A step contains the payment: it is pre-confirmed."""
    SHIPPED = "shipped"
    """The payment is captured and confirmed, so the shop has shipped."""
    REFUND_SENT = "refund_sent"
    REFUNDED = "refunded"
    EXPIRED = "expired"


_REACHED = {
    "order.captured": OrderStage.PAID,
    "order.confirmed": OrderStage.SHIPPED,
    "order.expired": OrderStage.EXPIRED,
    "refund.created": OrderStage.REFUND_SENT,
    "refund.completed": OrderStage.REFUNDED,
}
EVENTS = (*_REACHED, "order.reopened")
"""Event types of the webhooks that the shop receives."""
_ENDED = (OrderStage.REFUNDED, OrderStage.EXPIRED)


@dataclass(frozen=True, slots=True)
class ShopEvent:
    """A webhook's event."""

    type: str
    order_id: str
    transaction: str | None
    """Hash of the transaction that paid, if the event names one."""

    @classmethod
    def parse(cls, body: bytes) -> Self:
        """Parse the body of a webhook. Raises ValueError."""
        try:
            event: Any = orjson.loads(body)
            subject = event["data"]["object"]
            order_id = subject["id"] if subject["object"] == "order" else subject["order_id"]
            transaction = event["data"]["details"].get("transaction")
            return cls(str(event["type"]), str(order_id), None if transaction is None else str(transaction))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the body is not an event of an order or a refund: {error!r}") from None


@dataclass(slots=True)
class ShopOrder:
    """An order with the time of each stage that it reached."""

    id: str
    product: Product
    times: dict[OrderStage, float | None] = field(default_factory=dict)
    """Seconds since 1970 by stage; None for a stage before the last start of the shop."""
    transaction: str | None = None

    @property
    def stage(self) -> OrderStage:
        """The last stage that the order reached."""
        return max(self.times, key=list(OrderStage).index)

    @property
    def has_ended(self) -> bool:
        """True if no further stage follows."""
        return self.stage in _ENDED

    @property
    def is_refundable(self) -> bool:
        """True if the merchant may refund the order."""
        return self.stage is OrderStage.SHIPPED

    @property
    def version(self) -> str:
        """Text that changes with each stage."""
        return "-".join(self.times)


class OrderBook:
    """The newest orders of the shop."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Create an empty book. `clock` returns seconds since 1970."""
        self._clock = clock
        self._orders: dict[str, ShopOrder] = {}

    def add(self, id: str, product: Product) -> ShopOrder:
        """Add an order; the oldest one is dropped above `MAX_ORDERS`."""
        order = ShopOrder(id, product, {OrderStage.ORDERED: self._clock()})
        self._insert(order)
        return order

    def restore(self, stored: Iterable[Order], refunds: Iterable[Refund]) -> None:
        """Add orders of earlier runs with their refunds, oldest first."""
        states = {each["order_id"]: each["state"] for each in refunds}
        for each in stored:
            product = PRODUCTS.get(each["metadata"].get("product", ""))
            if product is not None:
                payment = each["payment"]
                transaction = None if payment is None else payment["transaction_hash"]
                times = dict.fromkeys(_stages(each, states.get(each["id"])))
                self._insert(ShopOrder(each["id"], product, times, transaction))

    def find(self, id: str) -> ShopOrder | None:
        """Return an order."""
        return self._orders.get(id)

    def newest(self, limit: int) -> list[ShopOrder]:
        """Return orders, newest first."""
        return list(islice(reversed(self._orders.values()), limit))

    def apply(self, event: ShopEvent) -> None:
        """Record an event, whose repetition changes nothing. Events of other orders are ignored."""
        order = self._orders.get(event.order_id)
        if order is None:
            return
        if event.type == "order.reopened" and order.stage is OrderStage.PAID:
            # A reorganization removed the payment. An order that was shipped remains shipped.
            del order.times[OrderStage.PAID]
            order.transaction = None
        stage = _REACHED.get(event.type)
        if stage is not None:
            order.times.setdefault(stage, self._clock())
        if stage is OrderStage.PAID:
            order.transaction = event.transaction

    def _insert(self, order: ShopOrder) -> None:
        self._orders[order.id] = order
        if len(self._orders) > MAX_ORDERS:
            del self._orders[next(iter(self._orders))]


def _stages(order: Order, refund: str | None) -> Iterator[OrderStage]:
    """Yield the stages that a stored order reached, with the state of its refund."""
    yield OrderStage.ORDERED
    state = OrderState(order["state"])
    if state is OrderState.EXPIRED:
        yield OrderStage.EXPIRED
    if state is OrderState.CAPTURED:
        yield OrderStage.PAID
        if Finality(order["finality"] or Finality.PROVISIONAL) is not Finality.PROVISIONAL:
            yield OrderStage.SHIPPED
    if refund is not None:
        yield OrderStage.REFUNDED if refund == DisbursementState.COMPLETE else OrderStage.REFUND_SENT
