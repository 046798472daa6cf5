"""Asking a node ahead: what is known to be asked soon, in one batch of JSON-RPC instead of one request after the other.

```text
wishes: what will be asked       -->  recorded as requests  -->  one batch, answered from one view where the node can
the code that asks, unchanged    -->  finds the answers; whatever is not among them is asked as ever
```
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import orjson

from foreseal.client.calls import request as any_method
from foreseal.client.errors import ClientError
from foreseal.client.requests import Request
from foreseal.errors import RpcError
from foreseal.payments.chain.node import Node
from foreseal.payments.chain.rpc import RpcNode

# Requests of one batch: nodes have limits.
_AT_ONCE = 100

Wish = Callable[[Node], object]
"""Asks one thing of a node."""


class Batches(Protocol):
    """What answers one request, and many at once: `foreseal.client.Client` does."""

    def request(self, method: str, *params: Any) -> Any:
        """Raises `RpcError` and `ClientError`."""
        ...

    def batch(self, requests: Sequence[Request[Any]], *, return_errors: bool = False) -> list[Any]:
        """The results in their order, an `RpcError` in the place of each that failed."""
        ...


def ahead(client: Batches, wishes: Sequence[Wish]) -> RpcNode:
    """The node behind a client, with the answers to these wishes. For one operation: answers are not renewed.

    Raises nothing: without a batch everything is asked when it is wanted.
    """
    recorder = _Recorder()
    for wish in wishes:
        recorder.record(wish)
    asked = list(dict.fromkeys(recorder.requests))
    answers: dict[tuple[str, bytes], Any] = {}
    for first in range(0, len(asked), _AT_ONCE):
        batch = asked[first : first + _AT_ONCE]
        requests = [any_method(name, *orjson.loads(params)) for name, params in batch]
        try:
            found = client.batch(requests, return_errors=True)
        except (ClientError, RpcError):  # not every node takes batches; what is wrong will show again
            break
        answers |= zip(batch, found, strict=True)
    return RpcNode(_Answered(client, answers))


class _Recorded(Exception):
    """Ends a wish once its request is known."""


# What a call answers while it is recorded: no, none or nobody, so that the code goes on to what it asks next.
_NOTHING = "0x" + "00" * 32


class _Recorder:
    """Notes what would be requested."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, bytes]] = []

    def record(self, wish: Wish) -> None:
        try:
            wish(RpcNode(self))
        except _Recorded:
            return

    def request(self, method: str, *params: Any) -> Any:
        self.requests.append((method, orjson.dumps(params)))
        if method == "eth_call":
            return _NOTHING
        raise _Recorded


class _Answered:
    """Answers from a batch what is in it."""

    def __init__(self, client: Batches, answers: dict[tuple[str, bytes], Any]) -> None:
        self._client = client
        self._answers = answers

    def request(self, method: str, *params: Any) -> Any:
        key = (method, orjson.dumps(params))
        if key not in self._answers:
            return self._client.request(method, *params)
        answer = self._answers[key]
        if isinstance(answer, RpcError):
            raise answer
        return answer
