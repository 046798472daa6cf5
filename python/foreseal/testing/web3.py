"""Providers for web3.py: `Web3(ForesealProvider(chain))`."""

from typing import Any

from web3 import AsyncWeb3, Web3
from web3.middleware import GasPriceStrategyMiddleware, SignAndSendRawMiddlewareBuilder
from web3.providers.async_base import AsyncJSONBaseProvider
from web3.providers.base import JSONBaseProvider
from web3.types import AsyncMakeRequestFn, MakeRequestFn, RPCEndpoint, RPCResponse

from foreseal.testing.chain import Chain

_SEND = "eth_sendTransaction"
# web3.py's own middleware, which queries the chain before every transaction or costs more than the whole call.
_NEEDLESS = ("ens_name_to_address", "validation", "gas_estimate")


class ForesealProvider(JSONBaseProvider):
    """A provider of a `web3.Web3` that serves calls from a chain in this process."""

    def __init__(self, chain: Chain, **options: Any) -> None:
        super().__init__(**options)
        self.chain = chain

    def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        """Execute one call."""
        return _response(self.chain, method, params)

    def make_batch_request(self, requests: list[tuple[RPCEndpoint, Any]]) -> list[RPCResponse]:
        """Execute several calls in their order."""
        return [_response(self.chain, method, params) for method, params in requests]

    def is_connected(self, show_traceback: bool = False) -> bool:
        """Return True: no connection can be lost."""
        return True


class AsyncForesealProvider(AsyncJSONBaseProvider):
    """A provider of a `web3.AsyncWeb3` that serves calls from a chain in this process."""

    def __init__(self, chain: Chain, **options: Any) -> None:
        super().__init__(**options)
        self.chain = chain

    async def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        """Execute one call."""
        return _response(self.chain, method, params)

    async def make_batch_request(self, requests: list[tuple[RPCEndpoint, Any]]) -> list[RPCResponse]:
        """Execute several calls in their order."""
        return [_response(self.chain, method, params) for method, params in requests]

    async def is_connected(self, show_traceback: bool = False) -> bool:
        """Return True: no connection can be lost."""
        return True


class SendingMiddleware(GasPriceStrategyMiddleware):
    """Middleware that lets the chain fill in nonce, gas and fees, unless a gas price strategy applies.

    A transaction that would revert raises the same error as its estimate, as with web3.py's own middleware.
    """

    def request_processor(self, method: RPCEndpoint, params: Any) -> Any:
        """Set the gas price by the strategy, if there is one."""
        if method == _SEND and self._w3.eth.generate_gas_price(params[0]) is not None:
            return super().request_processor(method, params)
        return method, params

    async def async_request_processor(self, method: RPCEndpoint, params: Any) -> Any:
        """Asyncio counterpart of `request_processor`."""
        if method == _SEND and self._w3.eth.generate_gas_price(params[0]) is not None:
            return await super().async_request_processor(method, params)
        return method, params

    def wrap_make_request(self, make_request: MakeRequestFn) -> MakeRequestFn:
        """Send the request, and raise the error of an estimate on a revert."""

        def send(method: RPCEndpoint, params: Any) -> RPCResponse:
            method, params = self.request_processor(method, params)
            response = make_request(method, params)
            if method == _SEND and _reverted(response):
                self._w3.eth.estimate_gas(params[0], "pending")
            return response

        return send

    async def async_wrap_make_request(self, make_request: AsyncMakeRequestFn) -> AsyncMakeRequestFn:
        """Asyncio counterpart of `wrap_make_request`."""

        async def send(method: RPCEndpoint, params: Any) -> RPCResponse:
            method, params = await self.async_request_processor(method, params)
            response = await make_request(method, params)
            if method == _SEND and _reverted(response):
                w3: Any = self._w3
                await w3.eth.estimate_gas(params[0], "pending")
            return response

        return send


def connect(chain: Chain) -> Web3:
    """Return a `Web3` on the chain that signs for the funded accounts; the first is the default sender.

    It has only the middleware `attrdict` of web3.py, which makes calls cheap: the chain fills in nonce, gas and fees,
    and ENS names are not resolved. `Web3(ForesealProvider(chain))` has all of the middleware.
    """
    w3 = Web3(ForesealProvider(chain))
    _prepare(w3, chain)
    return w3


def connect_async(chain: Chain) -> "AsyncWeb3[Any]":
    """Return an `AsyncWeb3` on the chain, like `connect`."""
    w3: AsyncWeb3[Any] = AsyncWeb3(AsyncForesealProvider(chain))
    _prepare(w3, chain)
    return w3


def _prepare(w3: Any, chain: Chain) -> None:
    onion = w3.middleware_onion
    onion.replace("gas_price_strategy", SendingMiddleware)
    for name in _NEEDLESS:
        onion.remove(name)
    if chain.settings.genesis is not None:
        # The chain has only the keys of its own development genesis.
        signers = [account.signer() for account in chain.accounts]
        onion.inject(SignAndSendRawMiddlewareBuilder.build(signers), "foreseal accounts", layer=0)
    if chain.accounts:
        w3.eth.default_account = chain.accounts[0].address


def _reverted(response: RPCResponse) -> bool:
    """Return True if the error has the output of a revert."""
    error: Any = response.get("error")
    return error is not None and isinstance(error.get("data"), str)


def _response(chain: Chain, method: str, params: Any) -> RPCResponse:
    response: Any = chain.request(method, params)
    return response  # type: ignore[no-any-return]
