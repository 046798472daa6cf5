"""Traces of orders from the ledger of a service on a fake chain."""

import itertools
import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import select

from foreseal.payments.ledger import TimelineEntry
from foreseal.payments.ledger.models import TimelineRecord
from foreseal.payments.ledger.queries import fetch_each
from foreseal.payments.telemetry.order_spans import DeliveryAttempt, OrderSpans
from foreseal.payments.telemetry.order_tracer import OrderTracer
from foreseal.payments.telemetry.trace_ids import TraceIds
from foreseal.telemetry.signals import FinishedSpan
from payments.api.service_harness import ServiceHarness

IDS = TraceIds(1, None)
LIFE = [
    "order.created",
    "order.signed",
    "order.stored",
    "order.capture_submitted",
    "order.transaction_broadcast",
    "order.captured",
    "order.confirmed",
    "order.finalized",
]


class TracedService:
    """A service whose orders are traced."""

    def __init__(self, service: ServiceHarness, ratio: float = 1.0) -> None:
        self.service = service
        self.spans: list[FinishedSpan] = []
        self.tracer = self.trace(ratio)

    def trace(self, ratio: float = 1.0) -> OrderTracer:
        """Trace with a tracer of a new process."""
        spans = OrderSpans(self.service.database, IDS, ratio, self.spans.append)
        self.tracer = OrderTracer(spans, self.service.clock)
        self.tracer.start()
        self.service.database.observer = self.tracer
        return self.tracer

    def named(self, prefix: str = "") -> list[str]:
        return [span.name for span in self.spans if span.name.startswith(prefix)]


@pytest.fixture
def traced(service: ServiceHarness) -> Iterator[TracedService]:
    traced_service = TracedService(service)
    yield traced_service
    traced_service.tracer.stop()


def test_events_from_creation_to_final_are_spans_of_one_trace(traced: TracedService) -> None:
    traced.service.captured("a")
    traced.tracer.stop()
    order = IDS.of_order("a")
    assert set(traced.named("order.")) <= set(LIFE)
    assert [name for name in traced.named() if name in LIFE[:4]] == LIFE[:4]
    *events, root = traced.spans
    assert (root.name, root.reference, root.parent, root.error) == ("order", order, None, None)
    assert (root.start, root.end) == (events[0].start, events[-1].end)
    assert {event.parent for event in events} == {order}
    assert {event.reference.trace_id for event in events} == {order.trace_id}
    assert len({event.reference.span_id for event in events}) == len(events)
    for before, after in itertools.pairwise(events):
        assert before.end == after.start
    landed = next(span for span in events if span.name == "order.captured")
    assert str(landed.attributes["foreseal.transaction.hash"]).startswith("0x")
    assert landed.attributes["foreseal.order.status"] == "Used, captured (provisional)"


def test_refund_and_webhook_are_in_the_trace_of_the_order(traced: TracedService) -> None:
    traced.service.captured("a")
    traced.service.made("/v1/orders/a/refunds", {"amount": "100", "id": "r"})
    traced.service.settle()
    traced.tracer.record_attempt(
        DeliveryAttempt("refunds", "r", 9, "w", 2, b'{"type":"refund.created"}', 5, 6, "status 500")
    )
    traced.tracer.stop()
    refund = next(span for span in traced.spans if span.name == "refund")
    assert refund.reference == IDS.of_subject("a", "refunds", "r")
    assert refund.parent == IDS.of_order("a")
    children = [span.name for span in traced.spans if span.parent == refund.reference]
    assert (children[0], children[-2], children[-1]) == (
        "refund.created",
        "refund.finalized",
        "webhook refund.created",
    )
    delivery = traced.spans[-1]
    assert (delivery.error, delivery.kind, delivery.start, delivery.end) == ("status 500", "client", 5, 6)
    assert delivery.attributes["foreseal.event.id"] == "evt_9"
    assert {span.reference.trace_id for span in traced.spans} == {IDS.of_order("a").trace_id}


def test_another_process_continues_the_trace_from_the_timeline(traced: TracedService) -> None:
    traced.service.stored("a")
    traced.tracer.stop()
    with traced.service.database.reading() as tx:
        times = [row.time for row in fetch_each(tx, select(TimelineRecord).order_by(TimelineRecord.id))]
    traced.trace()
    traced.service.made("/v1/orders/a/capture")
    traced.service.settle()
    traced.tracer.stop()
    capture = next(span for span in traced.spans if span.name == "order.capture_submitted")
    assert capture.start == times[-1] * 1_000_000_000
    root = next(span for span in traced.spans if span.name == "order")
    assert root.start == times[0] * 1_000_000_000
    assert {span.reference.trace_id for span in traced.spans} == {IDS.of_order("a").trace_id}


def test_orders_outside_the_sampled_share_have_no_spans(service: ServiceHarness) -> None:
    traced = TracedService(service, 0.0)
    service.captured("a")
    service.made("/v1/orders/a/refunds", {"amount": "100", "id": "r"})
    traced.tracer.stop()
    assert traced.spans == []


def test_full_queue_drops_events_and_never_waits(service: ServiceHarness) -> None:
    busy, released = threading.Event(), threading.Event()

    def export(_: FinishedSpan) -> None:
        busy.set()
        released.wait(30)

    tracer = OrderTracer(OrderSpans(service.database, IDS, 1.0, export), service.clock, queue_size=2)
    tracer.start()
    entry = TimelineEntry("orders", "a", 1, "set terms", None, "Drafted", {})
    tracer.record_committed([entry])
    assert busy.wait(30)
    tracer.record_committed([entry] * 5)
    assert tracer.dropped == 3
    released.set()
    tracer.stop()


def test_error_of_the_database_stops_no_trace(traced: TracedService, caplog: pytest.LogCaptureFixture) -> None:
    unknown = TimelineEntry("orders", "a", 1, "no such trigger", None, "Drafted", {})
    traced.tracer.record_committed([unknown])
    traced.service.stored("b")
    traced.tracer.stop()
    assert "an event was not traced" in caplog.text
    assert "order.stored" in traced.named()
