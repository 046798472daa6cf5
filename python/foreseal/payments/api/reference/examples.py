"""Examples of requests and responses, generated from their schemas."""

import re
from collections.abc import Mapping
from typing import Any

from foreseal.payments.api.schemas import Schema

_REFERENCE = "#/components/schemas/"
_TIME = 1_795_338_559
_ADDRESS = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
_HASH = "0x" + "5c1f" * 16
_SIGNATURE = "0x" + "9d" * 64 + "1b"
_CANDIDATES = ("12340000", _ADDRESS, _HASH, _SIGNATURE)
# Optional fields that a typical request contains.
_SHOWN = {"NewOrder": {"id", "payer", "amount"}, "PaymentRequest": {"id", "capture"}, "NewRefund": {"id"}}
_BY_NAME: Mapping[str, object] = {
    "id": "7",
    "order_id": "7",
    "object_id": "7",
    "webhook_id": "1",
    "event_id": "evt_41",
    "url": "https://shop.example/events",
    "basis_points": 10_000,
    "capture": True,
    "note": "Refunded in cash",
    "code": "not_capturable",
    "argument": None,
    "reason": "token_paused",
}


class SchemaExamples:
    """Generator of examples that conform to the schemas of a document."""

    def __init__(self, schemas: Schema) -> None:
        self._schemas = schemas

    def example(self, schema: Schema, name: str = "") -> Any:
        """Return an example of a schema; `name` is the field that has it."""
        if "$ref" in schema:
            component = schema["$ref"].removeprefix(_REFERENCE)
            return self._component(component, self._schemas[component], name)
        if "anyOf" in schema:
            (first, *_) = (each for each in schema["anyOf"] if each != {"type": "null"})
            return self.example({**first, "description": schema.get("description", "")}, name)
        if "examples" in schema:
            return schema["examples"][0]
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return schema["enum"][0]
        kind = schema["type"]
        if kind == "array":
            return [self.example(schema["items"])]
        if kind == "object":
            return {}
        if kind == "boolean":
            return True
        if kind in ("integer", "number"):
            return self._number(schema, name)
        return self._text(schema, name)

    def _component(self, component: str, schema: Schema, name: str) -> Any:
        if "properties" not in schema:
            return self.example(schema, name)
        required = set(schema.get("required", ())) | _SHOWN.get(component, set())
        return {field: self.example(inner, field) for field, inner in schema["properties"].items() if field in required}

    @staticmethod
    def _number(schema: Schema, name: str) -> int:
        if "Unix time" in schema.get("description", ""):
            return _TIME
        example = _BY_NAME.get(name)
        return example if isinstance(example, int) else max(1, schema.get("minimum", 0))

    @staticmethod
    def _text(schema: Schema, name: str) -> str:
        if "pattern" in schema:
            candidates = (_SIGNATURE,) if name == "signature" else _CANDIDATES
            return next(each for each in candidates if re.search(schema["pattern"], each))
        example = _BY_NAME.get(name)
        return example if isinstance(example, str) else "text"
