"""Comparable parts of errors of two nodes."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from foreseal.errors import RpcError
from live import RpcFailure

Rpc = Callable[..., Any]
Kinds = Sequence[tuple[str, re.Pattern[str]]]
"""Kinds of failures with the pattern of their messages; the first match counts."""
REVERT = "revert"


@dataclass(frozen=True, slots=True)
class Failure:
    """An error; kind and data are compared."""

    kind: str
    data: Any
    """Data of a revert; None for other kinds."""
    message: str = field(compare=False)


def kind_of(kinds: Kinds, message: str) -> str:
    """Return the kind of a message; an unknown kind is the message itself."""
    return next((kind for kind, pattern in kinds if pattern.search(message)), message)


def answer(rpc: Rpc, kinds: Kinds, method: str, params: Sequence[Any]) -> Any:
    """Return the result of a call, or its failure."""
    try:
        return rpc(method, *params)
    except RpcFailure as error:
        message, data = error.message, error.data
    except RpcError as error:
        message, data = error.message, None if error.data is None else orjson.loads(error.data)
    kind = kind_of(kinds, message)
    return Failure(kind, data if kind == REVERT else None, message)
