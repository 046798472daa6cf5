"""Service health and API description."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from foreseal.payments.api.health_responses import Document, Health
from foreseal.payments.api.openapi import document
from foreseal.payments.api.route import JsonReply, PlainCall, Route

HealthCheck = Callable[[], dict[str, Any]]


def general_routes(health: HealthCheck, others: Sequence[Route]) -> tuple[Route, ...]:
    """Return the routes that need no API key. The document describes `others` as well."""

    def healthz(_: PlainCall) -> JsonReply:
        found = health()
        return JsonReply(found, 200 if found["status"] == "ok" else 503)

    @functools.cache
    def routes_document() -> dict[str, Any]:  # its generation takes 40 ms
        return document((*others, *own))

    def described(_: PlainCall) -> JsonReply:
        return JsonReply(routes_document())

    own = (
        Route("GET", "/healthz", "Return the health of the service", healthz, {200: Health, 503: Health}, None),
        Route("GET", "/v1/openapi.json", "Return this document", described, {200: Document}, None),
    )
    return own
