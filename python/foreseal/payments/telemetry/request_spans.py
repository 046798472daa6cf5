"""Spans of HTTP requests: part of the caller's trace, with links to the traces of their orders."""

import time
from collections.abc import Callable, Iterator
from secrets import randbits

import orjson
from starlette.requests import Request
from starlette.responses import Response

from foreseal.payments.api.route import Route
from foreseal.payments.ledger.identifiers import LONGEST, is_storable
from foreseal.payments.telemetry.trace_ids import TraceIds
from foreseal.telemetry.request_sampler import RequestSampler
from foreseal.telemetry.signals import FinishedSpan, SpanReference
from foreseal.telemetry.traceparent import parse_traceparent

_NANOSECONDS = 1_000_000_000
_MAX_LINKS = 20
# Size in bytes above which a response is not parsed for the ids of orders.
_MAX_PARSED = 64 * 1024
# Responses to callers who may not see an order, or to requests that name none.
_UNLINKED = frozenset({401, 403, 404, 429})
_ORDER_PATHS = ("/v1/orders/{id}", "/v1/checkout/{id}")
_CREATING_PATHS = ("/v1/orders", "/v1/payments", "/v1/payments/batch")


class RequestSpans:
    """Tracer of the HTTP requests of one merchant. Used from the event loop's thread only."""

    def __init__(
        self,
        ids: TraceIds,
        sampler: RequestSampler,
        export: Callable[[FinishedSpan], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clock` returns Unix time in seconds."""
        self._ids = ids
        self._sampler = sampler
        self._export = export
        self._clock = clock

    def record(self, route: Route, request: Request, response: Response | None, seconds: float) -> None:
        """Export the span of a request that took some seconds; `response` is None if its handler failed."""
        header = request.headers.get("traceparent")
        parent = None if header is None else parse_traceparent(header.encode("latin-1"))
        if not self._sampler.is_sampled(parent):
            return
        status = 500 if response is None else response.status_code
        attributes: dict[str, str | int] = {
            "http.request.method": route.method,
            "http.route": route.path,
            "http.response.status_code": status,
        }
        if self._ids.merchant is not None:
            attributes["foreseal.merchant"] = self._ids.merchant
        orders = [] if response is None or status in _UNLINKED else list(_order_ids(route, request, response))
        if len(orders) == 1:
            attributes["foreseal.order.id"] = orders[0]
        trace_id = (randbits(128) or 1) if parent is None else parent.trace_id
        end = int(self._clock() * _NANOSECONDS)
        span = FinishedSpan(
            f"{route.method} {route.path}",
            SpanReference(trace_id, randbits(64) or 1),
            None if parent is None else SpanReference(parent.trace_id, parent.span_id),
            end - int(seconds * _NANOSECONDS),
            end,
            attributes,
            tuple(self._ids.of_order(each) for each in orders[:_MAX_LINKS]),
            "server",
            f"status {status}" if status >= 500 else None,
        )
        self._export(span)


def _order_ids(route: Route, request: Request, response: Response) -> Iterator[str]:
    """Yield the orders that a request names in its path or creates."""
    if route.path.startswith(_ORDER_PATHS):
        id = request.path_params["id"]
        if len(id) <= LONGEST and is_storable(id):
            yield id
    elif route.method == "POST" and route.path in _CREATING_PATHS:
        value = _parsed(response)
        items = value.get("items") if isinstance(value, dict) and "items" in value else [value]
        for item in items if isinstance(items, list) else ():
            order = item.get("order") if isinstance(item, dict) else None
            if isinstance(order, dict) and isinstance(order.get("id"), str):
                yield order["id"]


def _parsed(response: Response) -> object:
    body = getattr(response, "body", b"")
    if not body or len(body) > _MAX_PARSED:
        return None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
