"""The OpenAPI document (3.1), generated from the routes."""

import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from foreseal.payments.api.fields import Field, build_schema
from foreseal.payments.api.idempotency import HEADER, MAX_KEY_LENGTH
from foreseal.payments.api.route import REPLAYED, Route
from foreseal.payments.api.schemas import SCHEMAS, ref

_ERRORS = {
    400: "Invalid request; `argument` names the field, parameter or header.",
    401: "Unknown or revoked API key.",
    403: "The role of the API key does not permit this request.",
    404: "No resource has this id.",
    409: "Not possible in this state, or the same request is in progress.",
    413: "The request body is too large.",
    422: "The signature is not the payer's, or the Idempotency-Key was used for another request.",
    502: "The node returned an invalid response or rejected the request.",
    503: "The node or the database does not respond. Retry with the same key; accepted work continues.",
}
_MEANINGS = {200: "Success.", 201: "Created."}
_OPEN = (404, 503)


def document(routes: Sequence[Route]) -> dict[str, Any]:
    """Return the document of these routes."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Foreseal payments",
            "version": version("foreseal"),
            "description": "Orders that buyers sign (EIP-3009), captured, voided, canceled and refunded.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Create one with `foreseal pay keys create`.",
                }
            },
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": _operation_id(route),
        "summary": route.summary,
        "parameters": [
            *(_parameter(field, "path") for field in route.path_fields),
            *(_parameter(field, "query") for field in route.query),
            *([_IDEMPOTENCY] if route.claims else []),
        ],
        "responses": {str(status): _answer(status, name) for status, name in route.answers.items()},
        "security": [] if route.role is None else [{"key": []}],
    }
    if route.role is not None:
        found["description"] = (
            f"Requires role {route.role} or admin." if route.role != "reader" else "Allowed for every role."
        )
    for status in _OPEN if route.role is None else _ERRORS:
        if route.claims or status not in (413, 422):
            shown = {"description": _ERRORS[status], "content": _json(ref("Error"))}
            found["responses"].setdefault(str(status), shown)
    if route.claims:
        found["requestBody"] = {"required": any(field.required for field in route.body)}
        found["requestBody"]["content"] = _json(build_schema(route.body))
    return found


def _answer(status: int, name: str) -> dict[str, Any]:
    media = {name: {"schema": {"type": "string"}}} if "/" in name else _json(ref(name))
    return {"description": _MEANINGS.get(status) or _ERRORS[status], "content": media}


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _parameter(field: Field, location: str) -> dict[str, Any]:
    found = {"name": field.name, "in": location, "description": field.meaning, "schema": field.kind.schema}
    return found | {"required": field.required}


def _operation_id(route: Route) -> str:
    segments = re.findall(r"[A-Za-z]+", route.path.removeprefix("/v1/"))
    return "_".join((route.method.lower(), *segments))


_IDEMPOTENCY = {
    "name": HEADER,
    "in": "header",
    "required": True,
    "description": "Unique per request. A retry with the same key returns the response of the first, "
    f"with {REPLAYED}: true.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH},
}
