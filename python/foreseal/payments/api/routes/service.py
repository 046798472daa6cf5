"""Service health and API description."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from foreseal.payments.api.openapi import document
from foreseal.payments.api.route import JsonReply, Route, RouteCall, TextReply

METRICS_TYPE = "text/plain"


def _ignore_request(method: str, route: str, status: int, seconds: float) -> None:
    """Ignore a request."""


@dataclass(frozen=True, slots=True)
class Monitoring:
    """Health and metrics of the process. None of the functions waits for the node or the database."""

    health: Callable[[], dict[str, Any]]
    metrics: Callable[[], str] = str
    """Returns the metrics in the Prometheus text format."""
    observe: Callable[[str, str, int, float], None] = _ignore_request
    """Receives method, route, status and duration in seconds of each request."""


def general_routes(monitoring: Monitoring, others: Sequence[Route]) -> tuple[Route, ...]:
    """Return the routes that need no API key. The document describes `others` as well."""

    def healthz(_: RouteCall) -> JsonReply:
        found = monitoring.health()
        return JsonReply(found, 503 if found["status"] == "unhealthy" else 200)

    def metrics(_: RouteCall) -> TextReply:
        return TextReply(monitoring.metrics(), METRICS_TYPE)

    def described(_: RouteCall) -> JsonReply:
        return JsonReply(document((*others, *own)))

    own = (
        Route(
            "GET",
            "/healthz",
            "Return the health of the service",
            healthz,
            {200: "Health", 503: "Health"},
            None,
            waits=False,
        ),
        Route("GET", "/metrics", "Return metrics for Prometheus", metrics, {200: METRICS_TYPE}, None, waits=False),
        Route("GET", "/v1/openapi.json", "Return this document", described, {200: "Document"}, None),
    )
    return own
