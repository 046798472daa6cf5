"""Orders of the demo shop, in memory: what the shop learns from webhooks."""

import secrets
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
    PARTLY_REFUNDED = "partly_refunded"
    REFUNDED = "refunded"
    EXPIRED = "expired"


_REACHED = {
    "order.captured": OrderStage.PAID,
    "order.confirmed": OrderStage.SHIPPED,
    "order.expired": OrderStage.EXPIRED,
}
_REFUND_CREATED, _REFUND_COMPLETED, _REFUND_BLOCKED = "refund.created", "refund.completed", "refund.blocked"
EVENTS = (*_REACHED, "order.reopened", _REFUND_CREATED, _REFUND_COMPLETED, _REFUND_BLOCKED)
"""Event types of the webhooks that the shop receives."""
_ENDED = (OrderStage.REFUNDED, OrderStage.EXPIRED)


@dataclass(frozen=True, slots=True)
class ShopRefund:
    """A refund of an order, or of a part of it."""

    id: str
    amount: int
    """Amount in smallest units of the token."""
    is_complete: bool = False


@dataclass(frozen=True, slots=True)
class ShopEvent:
    """A webhook's event."""

    type: str
    order_id: str
    transaction: str | None
    """Hash of the transaction that paid, if the event names one."""
    refund: ShopRefund | None = None
    """Refund of an event of a refund."""

    @classmethod
    def parse(cls, body: bytes) -> Self:
        """Parse the body of a webhook. Raises ValueError."""
        try:
            event: Any = orjson.loads(body)
            subject = event["data"]["object"]
            type, transaction = str(event["type"]), event["data"]["details"].get("transaction")
            hash = None if transaction is None else str(transaction)
            if subject["object"] == "order":
                return cls(type, str(subject["id"]), hash)
            refund = ShopRefund(str(subject["id"]), int(subject["amount"]), type == _REFUND_COMPLETED)
            return cls(type, str(subject["order_id"]), hash, refund)
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
    refunds: dict[str, ShopRefund] = field(default_factory=dict)
    """Refunds by id, without those that the chain rejected."""
    blocked_refunds: set[str] = field(default_factory=set)
    """Ids of refunds that the chain rejected, which no event adds again."""
    next_refund_id: str = field(init=False)
    """Id of the next refund. It changes once the outcome of the last attempt is known, also if that was rejected."""

    def __post_init__(self) -> None:
        self._begin_attempt()

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
        """True if the merchant may refund the order, or the rest of it."""
        return OrderStage.SHIPPED in self.times and self.refundable > 0

    @property
    def refundable(self) -> int:
        """Amount that no refund returns yet, in smallest units."""
        return max(0, self.product.price - sum(each.amount for each in self.refunds.values()))

    @property
    def refunded(self) -> int:
        """Amount that complete refunds returned, in smallest units."""
        return sum(each.amount for each in self.refunds.values() if each.is_complete)

    @property
    def version(self) -> str:
        """Text that changes with each stage and each refund."""
        refunds = (f"{each.amount}{'+' if each.is_complete else '?'}" for each in self.refunds.values())
        return "-".join((*self.times, *refunds))

    def add_refund(self, refund: ShopRefund, at: float | None) -> None:
        """Add a refund, or its completion, at this time in seconds since 1970. A repetition changes nothing."""
        stored = self.refunds.get(refund.id)
        if refund.id in self.blocked_refunds or (stored is not None and stored.is_complete):
            return
        if stored is None:
            self._begin_attempt()
        self.refunds[refund.id] = refund
        self.times.setdefault(OrderStage.REFUND_SENT, at)
        if self.refunded >= self.product.price:
            self.times.pop(OrderStage.PARTLY_REFUNDED, None)
            self.times.setdefault(OrderStage.REFUNDED, at)
        elif self.refunded > 0:
            self.times.setdefault(OrderStage.PARTLY_REFUNDED, at)

    def block_refund(self, id: str) -> None:
        """Remove a refund that the chain rejected, so that the next one has another id. Its repetition is ignored."""
        if id in self.blocked_refunds:
            return
        self.blocked_refunds.add(id)
        self.refunds.pop(id, None)
        self._begin_attempt()
        if not self.refunds:
            self.times.pop(OrderStage.REFUND_SENT, None)

    def _begin_attempt(self) -> None:
        """Draw the id of the next refund. A count would repeat after a restart, when blocked refunds are forgotten."""
        self.next_refund_id = f"{self.id}-refund-{secrets.token_hex(6)}"


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
        by_order: dict[str | None, list[ShopRefund]] = {}
        for refund in refunds:
            state = DisbursementState(refund["state"])
            if state is not DisbursementState.BLOCKED:
                is_complete = state is DisbursementState.COMPLETE
                shop_refund = ShopRefund(refund["id"], int(refund["amount"]), is_complete)
                by_order.setdefault(refund["order_id"], []).append(shop_refund)
        for each in stored:
            product = PRODUCTS.get(each["metadata"].get("product", ""))
            if product is not None:
                payment = each["payment"]
                transaction = None if payment is None else payment["transaction_hash"]
                order = ShopOrder(each["id"], product, dict.fromkeys(_stages(each)), transaction)
                for own in by_order.get(order.id, []):
                    order.add_refund(own, None)
                self._insert(order)

    def find(self, id: str) -> ShopOrder | None:
        """Return an order."""
        return self._orders.get(id)

    def newest(self, limit: int) -> list[ShopOrder]:
        """Return orders, newest first."""
        return list(islice(reversed(self._orders.values()), limit))

    def apply(self, event: ShopEvent) -> None:
        """Record an event, whose repetition changes nothing. Events of other orders are ignored.

        The events of a refund may arrive in any order.
        """
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
        if event.refund is not None and event.type == _REFUND_BLOCKED:
            order.block_refund(event.refund.id)
        elif event.refund is not None and event.type in (_REFUND_CREATED, _REFUND_COMPLETED):
            order.add_refund(event.refund, self._clock())

    def _insert(self, order: ShopOrder) -> None:
        self._orders[order.id] = order
        if len(self._orders) > MAX_ORDERS:
            del self._orders[next(iter(self._orders))]


def _stages(order: Order) -> Iterator[OrderStage]:
    """Yield the stages that a stored order reached before its refunds."""
    yield OrderStage.ORDERED
    state = OrderState(order["state"])
    if state is OrderState.EXPIRED:
        yield OrderStage.EXPIRED
    if state is OrderState.CAPTURED:
        yield OrderStage.PAID
        if Finality(order["finality"] or Finality.PROVISIONAL) is not Finality.PROVISIONAL:
            yield OrderStage.SHIPPED
