"""The OpenAPI document (3.1), generated from the routes."""

import re
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any

from foreseal.payments.api.checkout.client_secrets import HEADER as SECRET_HEADER
from foreseal.payments.api.idempotency import HEADER, MAX_KEY_LENGTH
from foreseal.payments.api.request_models import RequestModel
from foreseal.payments.api.responses import Error
from foreseal.payments.api.route import REPLAYED, Route
from foreseal.payments.api.schemas import Schemas

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
_SHOPPER_ERRORS = {
    **{status: _ERRORS[status] for status in (400, 401, 409, 413, 502)},
    403: "The API key is not publishable, or the origin is not configured.",
    404: "No order has this id, or the client secret is wrong.",
    422: "The signature is not the payer's.",
    429: "Too many requests; Retry-After has the seconds to wait.",
    503: "The node or the database does not respond, or too many shoppers pay at the same time.",
}
_MEANINGS = {200: "Success.", 201: "Created."}
_OPEN = (404, 503)


def document(routes: Sequence[Route]) -> dict[str, object]:
    """Return the document of these routes."""
    schemas = Schemas(type_ for route in routes for type_ in _types(route))
    paths: dict[str, dict[str, object]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    parameters = {model.__name__ for route in routes for model in (route.models.path, route.models.query)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Foreseal payments",
            "version": version("foreseal"),
            "description": "Orders that buyers sign (EIP-3009), captured, voided, canceled and refunded.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        # Relative to /v1/openapi.json, so that it is correct below the path of a merchant or a proxy.
        "servers": [{"url": ".."}],
        "paths": paths,
        "components": {
            "schemas": {name: schema for name, schema in schemas.components.items() if name not in parameters},
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Create one with `foreseal pay keys create`.",
                },
                "client_secret": {
                    "type": "apiKey",
                    "in": "header",
                    "name": SECRET_HEADER,
                    "description": "Client secret of the order: the fragment of its payment link.",
                },
            },
        },
    }


def _types(route: Route) -> Iterator[object]:
    """Yield the types whose schemas an operation contains."""
    models = route.models
    yield from (Error, models.path, models.query)
    if _has_body(route):
        yield models.body
    yield from (type_ for type_ in route.answers.values() if not isinstance(type_, str))


def _has_body(route: Route) -> bool:
    return route.method == "POST" and bool(route.models.body.model_fields)


def _operation(route: Route, schemas: Schemas) -> dict[str, object]:
    operation: dict[str, Any] = {
        "operationId": _operation_id(route),
        "summary": route.summary,
        "parameters": [
            *_parameters(route.models.path, "path", schemas),
            *_parameters(route.models.query, "query", schemas),
            *([_IDEMPOTENCY] if route.claims else []),
        ],
        "responses": {str(status): _answer(status, type_, schemas) for status, type_ in route.answers.items()},
        "security": _security(route),
    }
    if route.for_shopper:
        operation["description"] = "Requires the client secret; pages of another origin also send a publishable key."
    elif route.role is not None:
        operation["description"] = (
            f"Requires role {route.role} or admin." if route.role != "reader" else "Allowed for every secret key."
        )
    errors = _SHOPPER_ERRORS if route.for_shopper else _ERRORS
    for status in _OPEN if route.role is None else errors:
        if route.method == "POST" or status not in (413, 422):
            shown = {"description": errors[status], "content": _json(schemas.reference(Error))}
            operation["responses"].setdefault(str(status), shown)
    if _has_body(route):
        required = any(field.is_required() for field in route.models.body.model_fields.values())
        operation["requestBody"] = {"required": required, "content": _json(schemas.reference(route.models.body))}
    return operation


def _security(route: Route) -> list[dict[str, list[str]]]:
    if route.for_shopper:
        return [{"client_secret": []}, {"client_secret": [], "key": []}]
    return [] if route.role is None else [{"key": []}]


def _answer(status: int, type_: object, schemas: Schemas) -> dict[str, object]:
    media = {type_: {"schema": {"type": "string"}}} if isinstance(type_, str) else _json(schemas.reference(type_))
    return {"description": _MEANINGS.get(status) or _ERRORS[status], "content": media}


def _json(schema: object) -> dict[str, object]:
    return {"application/json": {"schema": schema}}


def _parameters(model: type[RequestModel], location: str, schemas: Schemas) -> Iterator[dict[str, object]]:
    component = schemas.component(model)
    for name, schema in component.get("properties", {}).items():
        description, schema = schema["description"], {**schema}
        del schema["description"]
        # A parameter is absent instead of null.
        if "anyOf" in schema:
            (schema,) = [each for each in schema["anyOf"] if each != {"type": "null"}]
        required = name in component.get("required", ())
        yield {"name": name, "in": location, "description": description, "required": required, "schema": schema}


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
