"""Operations of an OpenAPI document, as far as a client needs them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from foreseal.payments.api.health_responses import Health
from foreseal.payments.api.idempotency import HEADER
from foreseal.payments.api.openapi import document
from foreseal.payments.api.routes import ROUTES
from foreseal.payments.api.routes.service import Monitoring, general_routes
from merchant_client.names import METHODS, OMITTED, path_argument

REFERENCE = "#/components/schemas/"
_JSON = "application/json"


def _no_health() -> Health:
    raise AssertionError("the document does not need it")


def load_document() -> dict[str, Any]:
    """Return the document of the service."""
    return document((*ROUTES, *general_routes(Monitoring(_no_health), ROUTES)))


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a body or of a query, or a parameter of a path."""

    name: str
    argument: str
    schema: dict[str, Any]
    required: bool


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path."""

    name: str
    method: str
    path: str
    summary: str
    path_fields: list[Field]
    query: list[Field]
    body: list[Field]
    result: str | None
    """Type of the response; None for text."""
    item: str | None
    """Type of the items if the response is a page."""
    has_key: bool
    """True if the request requires an Idempotency-Key."""
    accepts_503: bool
    """True if a response with the status 503 has the same type."""


def operations(openapi: dict[str, Any]) -> Iterator[Operation]:
    """Yield the operations that the clients have."""
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            if operation["operationId"] not in OMITTED:
                yield _operation(openapi["components"]["schemas"], path, method, operation)


def _operation(schemas: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> Operation:
    located: dict[str, list[Field]] = {"path": [], "query": [], "header": []}
    for each in operation["parameters"]:
        name = each["name"]
        argument = path_argument(path, name) if each["in"] == "path" else name
        located[each["in"]].append(Field(name, argument, each["schema"], each["required"]))
    body: list[Field] = []
    if "requestBody" in operation:
        model = schemas[reference_name(operation["requestBody"]["content"][_JSON]["schema"])]
        required = model.get("required", ())
        body = [Field(name, name, schema, name in required) for name, schema in model["properties"].items()]
    responses = operation["responses"]
    (success,) = [content["content"] for status, content in responses.items() if status.startswith("2")]
    result = reference_name(success[_JSON]["schema"]) if _JSON in success else None
    properties = schemas[result]["properties"] if result else {}
    unavailable = responses.get("503", {}).get("content", {})
    return Operation(
        name=METHODS[operation["operationId"]],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        path_fields=located["path"],
        query=located["query"],
        body=body,
        result=result,
        item=reference_name(properties["items"]["items"]) if "next" in properties else None,
        has_key=any(field.name == HEADER for field in located["header"]),
        accepts_503=unavailable == success,
    )


def reference_name(schema: dict[str, Any]) -> str:
    """Return the name of the component that a schema refers to."""
    return str(schema["$ref"]).removeprefix(REFERENCE)


def used_schemas(all_operations: list[Operation], schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas of the results and of the arguments, in the order of the document."""
    fields = [field.schema for each in all_operations for field in (*each.path_fields, *each.query, *each.body)]
    pending: list[Any] = [*fields, *({"$ref": REFERENCE + each.result} for each in all_operations if each.result)]
    used: set[str] = set()
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            if "$ref" in each and (name := reference_name(each)) not in used:
                used.add(name)
                pending.append(schemas[name])
            pending += each.values()
        elif isinstance(each, list):
            pending += each
    return {name: schema for name, schema in schemas.items() if name in used}


def ordered(fields: list[Field]) -> list[Field]:
    """Return the required fields, then the others."""
    return sorted(fields, key=lambda field: not field.required)
