"""The methods of both clients, each defined once.

`RequestMethod` wraps a function that builds a request (`calls`), `FlowMethod` one that needs several requests. A
`Client` returns the result, an `AsyncClient` an awaitable of it.
"""

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from foreseal.client import calls, pagination, receipt_waiter
from foreseal.client.requests import Request
from foreseal.client.sans_io import Flow
from foreseal.client.session import ClientSession

P = ParamSpec("P")
T = TypeVar("T")


class BlockingCaller(Protocol):
    """A client whose calls block."""

    def _run(self, flow: Flow[T]) -> T: ...


class AsyncCaller(Protocol):
    """A client whose calls are awaited."""

    async def _run(self, flow: Flow[T]) -> T: ...


class RequestMethod(Generic[P, T]):
    """A method with one request."""

    def __init__(self, build: Callable[P, Request[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__
        self.__name__ = build.__name__
        self.__signature__ = inspect.signature(build)

    @overload
    def __get__(self, client: BlockingCaller, owner: Any = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncCaller, owner: Any = None) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: Any = None) -> "RequestMethod[P, T]": ...
    def __get__(self, client: Any, owner: Any = None) -> Any:
        if client is None:
            return self
        return _explained(
            lambda *args, **kwargs: client._run(client.session.execute(self._build(*args, **kwargs))), self
        )


class FlowMethod(Generic[P, T]):
    """A method with several requests."""

    def __init__(self, start: Callable[Concatenate[ClientSession, P], Flow[T]]) -> None:
        self._start = start
        self.__doc__ = start.__doc__
        self.__name__ = start.__name__
        signature = inspect.signature(start)
        # The client supplies the session, so the signature omits it.
        self.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])

    @overload
    def __get__(self, client: BlockingCaller, owner: Any = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncCaller, owner: Any = None) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: Any = None) -> "FlowMethod[P, T]": ...
    def __get__(self, client: Any, owner: Any = None) -> Any:
        if client is None:
            return self
        return _explained(lambda *args, **kwargs: client._run(self._start(client.session, *args, **kwargs)), self)


def _explained(bound: Any, method: "RequestMethod[..., Any] | FlowMethod[..., Any]") -> Any:
    """Set the name, docstring and signature that `help` and editors show."""
    bound.__name__, bound.__doc__, bound.__signature__ = method.__name__, method.__doc__, method.__signature__
    return bound


class Methods:
    """JSON-RPC methods of a node. Every method raises `RpcError` and `ClientError`."""

    request = RequestMethod(calls.request)
    chain_id = RequestMethod(calls.chain_id)
    block_number = RequestMethod(calls.block_number)
    status = RequestMethod(calls.status)
    get_block = RequestMethod(calls.get_block)
    get_block_receipts = RequestMethod(calls.get_block_receipts)
    get_transaction = RequestMethod(calls.get_transaction)
    get_receipt = RequestMethod(calls.get_receipt)
    transaction_status = RequestMethod(calls.transaction_status)
    get_preconfirmation = RequestMethod(calls.get_preconfirmation)
    get_balance = RequestMethod(calls.get_balance)
    get_transaction_count = RequestMethod(calls.get_transaction_count)
    get_code = RequestMethod(calls.get_code)
    get_storage_at = RequestMethod(calls.get_storage_at)
    call = RequestMethod(calls.call)
    estimate_gas = RequestMethod(calls.estimate_gas)
    gas_price = RequestMethod(calls.gas_price)
    max_priority_fee_per_gas = RequestMethod(calls.max_priority_fee_per_gas)
    blob_base_fee = RequestMethod(calls.blob_base_fee)
    send_raw_transaction = RequestMethod(calls.send_raw_transaction)
    send_raw_transaction_sync = RequestMethod(calls.send_raw_transaction_sync)
    get_logs_page = RequestMethod(calls.get_logs_page)

    batch = FlowMethod(ClientSession.batch)
    get_flashblocks = FlowMethod(pagination.get_flashblocks)
    get_logs = FlowMethod(pagination.get_logs)
    wait_for_receipt = FlowMethod(receipt_waiter.wait_for_receipt)
