"""Providers for web3.py: `Web3(ForesealProvider(chain))`."""

from typing import Any

from web3 import AsyncWeb3, Web3
from web3.middleware import SignAndSendRawMiddlewareBuilder
from web3.providers.async_base import AsyncJSONBaseProvider
from web3.providers.base import JSONBaseProvider
from web3.types import RPCEndpoint, RPCResponse

from foreseal.testing.chain import Chain


class ForesealProvider(JSONBaseProvider):
    """Answers a `web3.Web3` from a chain in this process."""

    def __init__(self, chain: Chain, **options: Any) -> None:
        super().__init__(**options)
        self.chain = chain

    def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        """Answer one call."""
        return _response(self.chain, method, params)

    def make_batch_request(self, requests: list[tuple[RPCEndpoint, Any]]) -> list[RPCResponse]:
        """Answer several calls in their order."""
        return [_response(self.chain, method, params) for method, params in requests]

    def is_connected(self, show_traceback: bool = False) -> bool:
        """True: there is no connection that could be lost."""
        return True


class AsyncForesealProvider(AsyncJSONBaseProvider):
    """Answers a `web3.AsyncWeb3` from a chain in this process."""

    def __init__(self, chain: Chain, **options: Any) -> None:
        super().__init__(**options)
        self.chain = chain

    async def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        """Answer one call."""
        return _response(self.chain, method, params)

    async def make_batch_request(self, requests: list[tuple[RPCEndpoint, Any]]) -> list[RPCResponse]:
        """Answer several calls in their order."""
        return [_response(self.chain, method, params) for method, params in requests]

    async def is_connected(self, show_traceback: bool = False) -> bool:
        """True: there is no connection that could be lost."""
        return True


def connect(chain: Chain) -> Web3:
    """A `Web3` on the chain. The funded accounts sign what is sent from them; the first is the default sender."""
    w3 = Web3(ForesealProvider(chain))
    _prepare(w3, chain)
    return w3


def connect_async(chain: Chain) -> "AsyncWeb3[Any]":
    """An `AsyncWeb3` on the chain, as `connect`."""
    w3: AsyncWeb3[Any] = AsyncWeb3(AsyncForesealProvider(chain))
    _prepare(w3, chain)
    return w3


def _prepare(w3: Any, chain: Chain) -> None:
    if chain.accounts:
        keys = [account.key for account in chain.accounts]
        w3.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(keys), "foreseal accounts", layer=0)
        w3.eth.default_account = Web3.to_checksum_address(chain.accounts[0].address)


def _response(chain: Chain, method: str, params: Any) -> RPCResponse:
    response: Any = chain.request(method, params)
    return response  # type: ignore[no-any-return]
