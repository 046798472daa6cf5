"""Answers that list the node's methods, including those registered from Python."""

import inspect
from collections.abc import Mapping
from typing import Any

import orjson

DOCUMENT, MODULES = "rpc.discover", "rpc_modules"
METHODS = frozenset({DOCUMENT, MODULES})
"""Methods whose answer lists methods."""

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def with_registered(method: str, answer: bytes, signatures: Mapping[str, inspect.Signature]) -> bytes:
    """Add the registered methods to the core's `answer` to `method`; a registered name replaces the core's."""
    document: dict[str, Any] = orjson.loads(answer)
    if method == MODULES:
        document |= {name.replace(".", "_").split("_")[0]: "1.0" for name in signatures}
    else:
        core_methods = [entry for entry in document["methods"] if entry["name"] not in signatures]
        document["methods"] = core_methods + [_described(name, signature) for name, signature in signatures.items()]
    return orjson.dumps(document)


def _described(name: str, signature: inspect.Signature) -> dict[str, Any]:
    """Return the OpenRPC method object of a Python function: its parameters by name, of any type."""
    positional = [parameter for parameter in signature.parameters.values() if parameter.kind in _POSITIONAL]
    return {
        "name": name,
        "paramStructure": "by-position",
        "params": [
            {"name": parameter.name, "required": parameter.default is parameter.empty, "schema": {}}
            for parameter in positional
        ],
        "result": {"name": "result", "schema": {}},
    }
