"""What the node says of its methods, with those that were registered from Python."""

import inspect
from collections.abc import Mapping
from typing import Any

import orjson

DOCUMENT, MODULES = "rpc.discover", "rpc_modules"
METHODS = frozenset({DOCUMENT, MODULES})
"""Methods whose answer lists methods."""

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def with_registered(method: str, answer: bytes, signatures: Mapping[str, inspect.Signature]) -> bytes:
    """The core's `answer` to `method` with the registered methods in it; a registered name stands for the core's."""
    found: dict[str, Any] = orjson.loads(answer)
    if method == MODULES:
        found |= {name.replace(".", "_").split("_")[0]: "1.0" for name in signatures}
    else:
        kept = [entry for entry in found["methods"] if entry["name"] not in signatures]
        found["methods"] = kept + [_described(name, signature) for name, signature in signatures.items()]
    return orjson.dumps(found)


def _described(name: str, signature: inspect.Signature) -> dict[str, Any]:
    """The OpenRPC method object of a Python function: its parameters by name, of any type."""
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
