"""Validation of paths, queries and bodies by pydantic models; the first problem becomes the error response."""

import json
from collections.abc import Sequence
from typing import TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from foreseal.payments.api.errors import ApiError
from foreseal.payments.validation import describe, enclosing_model, field_path
from foreseal.payments.validation.error_messages import show

# Maximum members of a JSON object. Each unknown one would cost a message.
_MAX_MEMBERS = 100


class RequestModel(BaseModel):
    """Fields of a path, a query or a body. Null and an absent field are the same."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class NoFields(RequestModel):
    """A path, query or body without fields."""


M = TypeVar("M", bound=RequestModel)


def parse_fields(model: type[M], raw: object) -> M:
    """Validate the fields of an object. Raises `ApiError` 400 with the field at fault."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        raise _to_api_error(model, _first(error.errors(include_url=False))) from None


def parse_body(model: type[M], raw: bytes) -> tuple[M, bytes]:
    """Validate a JSON body. Return it, and its canonical form. Raises `ApiError` 400."""
    try:
        document = orjson.loads(raw or b"{}")
    except orjson.JSONDecodeError as error:
        raise ApiError(400, "invalid_body", f"the body is not JSON: {error}") from None
    # orjson returns the last of several members with one name; another reader of the body may take the first.
    try:
        json.loads(raw or b"{}", object_pairs_hook=_check_members)
    except (RecursionError, ValueError):
        raise ApiError(400, "invalid_body", "the body is nested too deeply, or a number has too many digits") from None
    return parse_fields(model, document), orjson.dumps(document, option=orjson.OPT_SORT_KEYS)


def _check_members(members: list[tuple[str, object]]) -> None:
    """Reject an object with too many members or two of one name."""
    if len(members) > _MAX_MEMBERS:
        raise ApiError(400, "invalid_body", f"an object has {len(members)} fields, at most {_MAX_MEMBERS} are allowed")
    names: set[str] = set()
    for name, _ in members:
        if name in names:
            raise ApiError(400, "duplicate_field", f"{name}: the field occurs more than once", name)
        names.add(name)


def _first(errors: Sequence[ErrorDetails]) -> ErrorDetails:
    """Return the error to report: in each object an unknown field, else the first of the model's fields."""
    depth = 1
    while True:
        unknown = [error for error in errors if len(error["loc"]) == depth and error["type"] == "extra_forbidden"]
        first = (unknown or errors)[0]
        if len(first["loc"]) <= depth:
            return first
        errors = [error for error in errors if error["loc"][:depth] == first["loc"][:depth]]
        depth += 1


def _to_api_error(model: type[RequestModel], error: ErrorDetails) -> ApiError:
    location, kind, value = error["loc"], error["type"], error["input"]
    argument = field_path(location)
    fields = enclosing_model(model, location).model_fields
    if kind == "extra_forbidden":
        expected = ", ".join(fields) or "no fields"
        return ApiError(400, "unknown_field", f"{argument}: unknown field, expected {expected}", argument)
    if kind == "model_type" and not (location and isinstance(location[-1], str)):
        subject = f"{argument}:" if argument else "the body"
        return ApiError(400, "invalid_body", f"{subject} must be an object, got {show(value)}", argument or None)
    if kind == "missing" or (value is None and isinstance(location[-1], str)):
        meaning = fields[str(location[-1])].description
        return ApiError(400, "missing_field", f"{argument} is missing: {meaning}", argument)
    return ApiError(400, "invalid_value", f"{argument}: {describe(error)}", argument)
