"""Service health and API description."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from foreseal.payments.api.health_responses import Document, Health
from foreseal.payments.api.openapi import document
from foreseal.payments.api.route import JsonReply, PlainCall, Route, TextReply

METRICS_TYPE = "text/plain"


def _ignore_request(method: str, route: str, status: int, seconds: float) -> None:
    """Ignore a request."""


@dataclass(frozen=True, slots=True)
class Monitoring:
    """Health and metrics of the process. None of the functions waits for the node or the database."""

    health: Callable[[], Health]
    metrics: Callable[[], str] = str
    """Returns the metrics in the Prometheus text format."""
    observe: Callable[[str, str, int, float], None] = _ignore_request
    """Receives method, route, status and duration in seconds of each request."""
    trace: Callable[[Route, Request, Response | None, float], None] | None = None
    """Receives each request with its response, None if the handler failed, and the duration in seconds."""


def general_routes(monitoring: Monitoring, others: Sequence[Route]) -> tuple[Route, ...]:
    """Return the routes that need no API key. The document describes `others` as well."""

    def healthz(_: PlainCall) -> JsonReply:
        health = monitoring.health()
        return JsonReply(health, 503 if health["status"] == "unhealthy" else 200)

    def metrics(_: PlainCall) -> TextReply:
        return TextReply(monitoring.metrics(), METRICS_TYPE)

    @functools.cache
    def routes_document() -> dict[str, object]:  # its generation takes 40 ms
        return document((*others, *own))

    def described(_: PlainCall) -> JsonReply:
        return JsonReply(routes_document())

    own = (
        Route(
            "GET",
            "/healthz",
            "Return the health of the service",
            healthz,
            {200: Health, 503: Health},
            None,
            waits=False,
        ),
        Route("GET", "/metrics", "Return metrics for Prometheus", metrics, {200: METRICS_TYPE}, None, waits=False),
        Route("GET", "/v1/openapi.json", "Return this document", described, {200: Document}, None),
    )
    return own
