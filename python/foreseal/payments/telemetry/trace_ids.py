"""Ids of the traces of orders, which every process derives alike, so that none has to be stored."""

from dataclasses import dataclass
from hashlib import sha256

from foreseal.payments.ledger.models import OrderRecord
from foreseal.telemetry.signals import SpanReference

_SAMPLED_BITS = 64


@dataclass(frozen=True, slots=True)
class TraceIds:
    """Ids of one merchant's traces on one chain."""

    chain_id: int
    merchant: str | None
    """None for a merchant without a name."""

    def of_order(self, id: str) -> SpanReference:
        """Return the trace of an order and its span `order`."""
        digest = self._digest(OrderRecord.__tablename__, id)
        return SpanReference(_id(digest[:16]), _id(digest[16:24]))

    def of_subject(self, order_id: str, table: str, id: str) -> SpanReference:
        """Return the span of a row, such as a refund, in the trace of its order."""
        order = self.of_order(order_id)
        if table == OrderRecord.__tablename__:
            return order
        return SpanReference(order.trace_id, _id(self._digest(table, id)[16:24]))

    def _digest(self, *names: str) -> bytes:
        # The lengths keep parts of different names apart.
        parts = (str(self.chain_id), self.merchant or "", *names)
        return sha256("".join(f"{len(part)}:{part}" for part in parts).encode()).digest()


def is_trace_sampled(trace_id: int, ratio: float) -> bool:
    """Return True if a trace is in the sampled share, by the algorithm of OpenTelemetry's TraceIdRatioBased."""
    return trace_id % (1 << _SAMPLED_BITS) < round(ratio * (1 << _SAMPLED_BITS))


def _id(part: bytes) -> int:
    return int.from_bytes(part) or 1  # zero is invalid
