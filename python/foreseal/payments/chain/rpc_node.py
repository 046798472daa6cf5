"""A node over JSON-RPC, limited to methods that every Ethereum node has."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from foreseal.client.calls import request as build_request
from foreseal.client.errors import ClientError
from foreseal.client.requests import Request
from foreseal.errors import RpcError
from foreseal.payments.chain import node_requests
from foreseal.payments.chain.answers import to_chain_error
from foreseal.payments.chain.errors import ChainError
from foreseal.payments.chain.node import BlockHead, BlockTag, ChainLog, ChainNode, ChainReceipt, LogFilter, NodeRequest

T = TypeVar("T")

# Requests per JSON-RPC batch; nodes limit the batch size.
_BATCH_SIZE = 100


class BatchClient(Protocol):
    """JSON-RPC client whose results are plain JSON values, such as `foreseal.client.Client`."""

    def request(self, method: str, *params: object) -> object:
        """Return the result of a request. Raises `RpcError` and `foreseal.client.ClientError`."""
        ...

    def batch(self, requests: Sequence[Request[object]], *, return_errors: bool = False) -> list[object]:
        """Return the results in request order. A failed request yields its `RpcError` as the result."""
        ...


class RpcNode:
    """A node behind a JSON-RPC client."""

    def __init__(self, client: BatchClient, for_party: Callable[[str], ChainNode] | None = None) -> None:
        """Set up. `for_party` returns the node for calls of a stranger's code, by default this node."""
        self._client = client
        self._for_party = for_party

    def for_party(self, party: str) -> ChainNode:
        """Return the node for calls whose cost the code of this account decides."""
        return self if self._for_party is None else self._for_party(party)

    def execute(self, request: NodeRequest[T]) -> T:
        """Return the result of a request. Raises `ChainError`."""
        try:
            answer = self._client.request(request.method, *request.params)
        except (ClientError, RpcError) as error:
            return request.recover(to_chain_error(request.method, error))
        return request.read(answer)

    def batch(self, requests: Sequence[NodeRequest[object]]) -> list[object]:
        """Return the result of each request, or the `ChainError` that it failed with. Equal requests are sent once."""
        distinct = {request.key(): request for request in requests}
        keys = list(distinct)
        answers: dict[bytes, object] = {}
        for first in range(0, len(keys), _BATCH_SIZE):
            chunk = keys[first : first + _BATCH_SIZE]
            answers |= zip(chunk, self._batch([distinct[key] for key in chunk]), strict=True)
        return [answers[request.key()] for request in requests]

    def _batch(self, requests: Sequence[NodeRequest[object]]) -> list[object]:
        if len(requests) == 1:
            return [self._outcome(requests[0])]
        built = [build_request(request.method, *request.params) for request in requests]
        try:
            answers = self._client.batch(built, return_errors=True)
        except RpcError:  # some nodes lack batches
            return [self._outcome(request) for request in requests]
        except ClientError as error:
            return [_converted(request, error) for request in requests]
        return [_converted(request, answer) for request, answer in zip(requests, answers, strict=True)]

    def _outcome(self, request: NodeRequest[object]) -> object:
        try:
            return self.execute(request)
        except ChainError as error:
            return error

    def chain_id(self) -> int:
        """Call eth_chainId."""
        return self.execute(node_requests.chain_id())

    def head(self, block: BlockTag) -> BlockHead | None:
        """Call eth_getBlockByNumber."""
        return self.execute(node_requests.head(block))

    def logs(self, log_filter: LogFilter) -> Sequence[ChainLog]:
        """Call eth_getLogs."""
        return self.execute(node_requests.logs(log_filter))

    def receipt(self, hash: str) -> ChainReceipt | None:
        """Call eth_getTransactionReceipt."""
        return self.execute(node_requests.receipt(hash))

    def transaction_count(self, address: str, block: BlockTag) -> int:
        """Call eth_getTransactionCount."""
        return self.execute(node_requests.transaction_count(address, block))

    def code(self, address: str, block: BlockTag) -> bytes:
        """Call eth_getCode."""
        return self.execute(node_requests.code(address, block))

    def call(self, to: str, data: bytes, block: BlockTag, sender: str | None = None) -> bytes:
        """Call eth_call. Raises `Reverted`."""
        return self.execute(node_requests.call(to, data, block, sender))

    def estimate_gas(self, sender: str, to: str, data: bytes, block: BlockTag) -> int:
        """Call eth_estimateGas. Raises `Reverted`."""
        return self.execute(node_requests.estimate_gas(sender, to, data, block))

    def priority_fee(self) -> int:
        """Call eth_maxPriorityFeePerGas."""
        return self.execute(node_requests.priority_fee())

    def send(self, raw: bytes) -> None:
        """Call eth_sendRawTransaction. Raises `NonceTooLow` and `Underpriced`; `already known` is success."""
        self.execute(node_requests.send(raw))


def _converted(request: NodeRequest[object], answer: object) -> object:
    """Return the result for an answer of a batch, or the `ChainError` that the request failed with."""
    try:
        if isinstance(answer, RpcError | ClientError):
            return request.recover(to_chain_error(request.method, answer))
        return request.read(answer)
    except ChainError as error:
        return error
