"""Spans of HTTP requests."""

from typing import Any

import orjson
import pytest
from starlette.requests import Request
from starlette.responses import Response

from foreseal.payments.api.route import Route
from foreseal.payments.api.routes import ROUTES
from foreseal.payments.telemetry.request_spans import RequestSpans
from foreseal.payments.telemetry.trace_ids import TraceIds
from foreseal.telemetry.configuration import TraceSampling
from foreseal.telemetry.request_sampler import RequestSampler
from foreseal.telemetry.signals import FinishedSpan, SpanReference

IDS = TraceIds(1, "books")
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def route(method: str, path: str) -> Route:
    return next(each for each in ROUTES if (each.method, each.path) == (method, path))


def record(
    api_route: Route,
    status: int | None,
    body: Any = None,
    traceparent: str | None = None,
    ratio: float = 1.0,
    **path: str,
) -> list[FinishedSpan]:
    """Return the spans of one request."""
    exported: list[FinishedSpan] = []
    spans = RequestSpans(IDS, RequestSampler(TraceSampling(ratio)), exported.append, lambda: 100.0)
    headers = [] if traceparent is None else [(b"traceparent", traceparent.encode())]
    request = Request({"type": "http", "method": api_route.method, "headers": headers, "path_params": path})
    spans.record(api_route, request, None if status is None else Response(orjson.dumps(body), status), 0.5)
    return exported


def test_request_is_in_the_callers_trace_and_linked_to_its_order() -> None:
    (span,) = record(route("GET", "/v1/orders/{id}"), 200, {}, f"00-{TRACE}-{PARENT}-01", ratio=0.0, id="7")
    assert (span.name, span.kind, span.error) == ("GET /v1/orders/{id}", "server", None)
    assert span.reference.trace_id == int(TRACE, 16)
    assert span.parent == SpanReference(int(TRACE, 16), int(PARENT, 16))
    assert span.links == (IDS.of_order("7"),)
    assert (span.start, span.end) == (99_500_000_000, 100_000_000_000)
    assert span.attributes["foreseal.order.id"] == "7"
    assert span.attributes["foreseal.merchant"] == "books"


def test_flag_and_ratio_decide() -> None:
    get = route("GET", "/v1/orders/{id}")
    assert record(get, 200, {}, f"00-{TRACE}-{PARENT}-00", id="7") == []
    assert record(get, 200, {}, ratio=0.0, id="7") == []
    (span,) = record(get, 200, {}, id="7")
    assert span.parent is None
    assert span.reference.trace_id != IDS.of_order("7").trace_id


@pytest.mark.parametrize(
    ("body", "linked"),
    [
        ({"order": {"id": "a"}}, ["a"]),
        ({"items": [{"order": {"id": "a"}}, {"order": None, "error": {}}, {"order": {"id": "b"}}]}, ["a", "b"]),
        ({"items": [{"order": {"id": str(number)}} for number in range(100)]}, [str(number) for number in range(20)]),
        ({"order": {"id": "a", "more": "x" * 70_000}}, []),
        ({"order": {"id": 5}}, []),
        ([1], []),
    ],
)
def test_created_orders_are_linked_from_the_response(body: Any, linked: list[str]) -> None:
    (span,) = record(route("POST", "/v1/payments"), 201, body)
    assert span.links == tuple(IDS.of_order(each) for each in linked)


@pytest.mark.parametrize(("status", "links"), [(401, 0), (403, 0), (404, 0), (409, 1), (503, 1)])
def test_rejected_caller_gets_no_link(status: int, links: int) -> None:
    (span,) = record(route("GET", "/v1/orders/{id}"), status, {}, id="7")
    assert len(span.links) == links
    assert (span.error is not None) == (status >= 500)


def test_failed_handler_is_an_error_without_links() -> None:
    (span,) = record(route("GET", "/v1/orders/{id}"), None, id="7")
    assert (span.error, span.links, span.attributes["http.response.status_code"]) == ("status 500", (), 500)


def test_overlong_id_is_not_linked() -> None:
    (span,) = record(route("GET", "/v1/orders/{id}"), 400, {}, id="x" * 201)
    assert span.links == ()
    assert "foreseal.order.id" not in span.attributes
