"""Prefetch: requests that an operation will make soon, sent as one JSON-RPC batch.

```text
queries: the expected queries    -->  recorded as requests  -->  one batch, answered from one view if the node can
the unchanged querying code      -->  reads the results; a request outside the batch goes to the node as usual
```
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import orjson

from foreseal.client.calls import request as build_request
from foreseal.client.errors import ClientError
from foreseal.client.requests import Request
from foreseal.errors import RpcError
from foreseal.payments.chain.node import ChainNode
from foreseal.payments.chain.rpc_node import RpcNode

# Requests per batch; nodes limit the batch size.
_AT_ONCE = 100

NodeQuery = Callable[[ChainNode], object]
"""A callable that queries a node."""


class BatchClient(Protocol):
    """Client for single and batched requests, such as `foreseal.client.Client`."""

    def request(self, method: str, *params: Any) -> Any:
        """Return the result of one request. Raises `RpcError` and `ClientError`."""
        ...

    def batch(self, requests: Sequence[Request[Any]], *, return_errors: bool = False) -> list[Any]:
        """Return the results in request order. A failed request yields its `RpcError` as the result."""
        ...


def prefetch_node(client: BatchClient, queries: Sequence[NodeQuery]) -> RpcNode:
    """Return the node behind a client, with the results of these queries prefetched.

    Use it for one operation: prefetched results are not refreshed. Raises nothing: if the batch fails, each request is
    sent when it is needed.
    """
    recorder = _Recorder()
    for query in queries:
        recorder.record(query)
    recorded = list(dict.fromkeys(recorder.requests))
    answers: dict[tuple[str, bytes], Any] = {}
    for first in range(0, len(recorded), _AT_ONCE):
        batch = recorded[first : first + _AT_ONCE]
        requests = [build_request(name, *orjson.loads(params)) for name, params in batch]
        try:
            found = client.batch(requests, return_errors=True)
        except (ClientError, RpcError):  # some nodes lack batches; a real failure recurs with the single request
            break
        answers |= zip(batch, found, strict=True)
    return RpcNode(_Answered(client, answers))


class _Recorded(Exception):
    """Signal that ends a query once its request is recorded."""


# Result of an eth_call while recording. It decodes as false, zero or the zero address, so the query continues to its
# next request.
_NOTHING = "0x" + "00" * 32


class _Recorder:
    """Client that records requests instead of sending them."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, bytes]] = []

    def record(self, query: NodeQuery) -> None:
        try:
            query(RpcNode(self))
        except _Recorded:
            return

    def request(self, method: str, *params: Any) -> Any:
        self.requests.append((method, orjson.dumps(params)))
        if method == "eth_call":
            return _NOTHING
        raise _Recorded


class _Answered:
    """Client that answers from a batch, and sends what the batch lacks."""

    def __init__(self, client: BatchClient, answers: dict[tuple[str, bytes], Any]) -> None:
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
