"""The methods of both clients, each defined once.

`Method` wraps a function that builds a request (`calls`), `Journey` one that needs several requests. A `Client` returns
the result, an `AsyncClient` an awaitable of it.
"""

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from foreseal.client import calls
from foreseal.client import pagination as pages
from foreseal.client import receipt_waiter as waiting
from foreseal.client.requests import Request
from foreseal.client.sans_io import Flow
from foreseal.client.session import Session

P = ParamSpec("P")
T = TypeVar("T")


class Blocking(Protocol):
    """A client whose calls block."""

    def _run(self, flow: Flow[T]) -> T: ...


class Awaiting(Protocol):
    """A client whose calls are awaited."""

    async def _run(self, flow: Flow[T]) -> T: ...


class Method(Generic[P, T]):
    """A method with one request."""

    def __init__(self, build: Callable[P, Request[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__
        self.__name__ = build.__name__
        self.__signature__ = inspect.signature(build)

    @overload
    def __get__(self, client: Blocking, owner: Any = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Awaiting, owner: Any = None) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: Any = None) -> "Method[P, T]": ...
    def __get__(self, client: Any, owner: Any = None) -> Any:
        if client is None:
            return self
        return _explained(
            lambda *args, **kwargs: client._run(client.session.execute(self._build(*args, **kwargs))), self
        )


class Journey(Generic[P, T]):
    """A method with several requests."""

    def __init__(self, start: Callable[Concatenate[Session, P], Flow[T]]) -> None:
        self._start = start
        self.__doc__ = start.__doc__
        self.__name__ = start.__name__
        whole = inspect.signature(start)
        # The client supplies the session, so the signature omits it.
        self.__signature__ = whole.replace(parameters=list(whole.parameters.values())[1:])

    @overload
    def __get__(self, client: Blocking, owner: Any = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Awaiting, owner: Any = None) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: Any = None) -> "Journey[P, T]": ...
    def __get__(self, client: Any, owner: Any = None) -> Any:
        if client is None:
            return self
        return _explained(lambda *args, **kwargs: client._run(self._start(client.session, *args, **kwargs)), self)


def _explained(bound: Any, method: "Method[..., Any] | Journey[..., Any]") -> Any:
    """Set the name, docstring and signature that `help` and editors show."""
    bound.__name__, bound.__doc__, bound.__signature__ = method.__name__, method.__doc__, method.__signature__
    return bound


class Methods:
    """JSON-RPC methods of a node. Every method raises `RpcError` and `ClientError`."""

    request = Method(calls.request)
    chain_id = Method(calls.chain_id)
    block_number = Method(calls.block_number)
    status = Method(calls.status)
    get_block = Method(calls.get_block)
    get_block_receipts = Method(calls.get_block_receipts)
    get_transaction = Method(calls.get_transaction)
    get_receipt = Method(calls.get_receipt)
    transaction_status = Method(calls.transaction_status)
    get_preconfirmation = Method(calls.get_preconfirmation)
    get_balance = Method(calls.get_balance)
    get_transaction_count = Method(calls.get_transaction_count)
    get_code = Method(calls.get_code)
    get_storage_at = Method(calls.get_storage_at)
    call = Method(calls.call)
    estimate_gas = Method(calls.estimate_gas)
    gas_price = Method(calls.gas_price)
    max_priority_fee_per_gas = Method(calls.max_priority_fee_per_gas)
    blob_base_fee = Method(calls.blob_base_fee)
    send_raw_transaction = Method(calls.send_raw_transaction)
    send_raw_transaction_sync = Method(calls.send_raw_transaction_sync)
    get_flashblocks = Method(calls.get_flashblocks)
    get_logs_page = Method(calls.get_logs_page)

    batch = Journey(Session.batch)
    get_logs = Journey(pages.get_logs)
    wait_for_receipt = Journey(waiting.wait_for_receipt)
