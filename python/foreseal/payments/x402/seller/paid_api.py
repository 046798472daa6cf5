"""Prices next to handlers, so that the framework's router decides: as a decorator, a dependency or a guard.

```python
api = PaidApi.connect("0x...", network="eip155:84532", node="http://...", facilitator="http://...", database="...")
app = FastAPI()
api.install(app)

@app.get("/report")
@api.paid("$0.01")
async def report(): ...

@app.get("/words")
async def words(payment: Charge = Depends(api.payment(Price("$0.01", Scheme.UPTO)))): ...
```

Litestar has guards: `@get("/report", guards=[api.guard("$0.01")])` in an application that is served as `api.wrap(app)`.
Each form declares a price to `PaidRoutes`, which sells the response. FastAPI and Litestar are not imported.
"""

import functools
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.applications import Starlette
from starlette.types import ASGIApp
from x402.http.facilitator_client import HTTPFacilitatorClient
from x402.http.facilitator_client_base import FacilitatorConfig
from x402.mechanisms.evm.default_assets import get_default_asset

from foreseal.client import Client
from foreseal.payments.chain import RpcNode
from foreseal.payments.ledger import Database, Ledger
from foreseal.payments.typed_data import Domain
from foreseal.payments.x402.seller.middleware import PaidRoutes
from foreseal.payments.x402.seller.payment_requirements import SellerSettings
from foreseal.payments.x402.seller.priced_handlers import granted_charge
from foreseal.payments.x402.seller.prices import Charge, PriceLike
from foreseal.payments.x402.seller.seller import Seller

Handler = TypeVar("Handler", bound=Callable[..., object])


class PaidApi:
    """A seller whose handlers declare their prices."""

    def __init__(self, seller: Seller) -> None:
        self.seller = seller
        self._closing: list[Callable[[], Awaitable[None] | None]] = []

    @classmethod
    def connect(cls, pay_to: str, *, network: str, node: str, facilitator: str, database: str) -> "PaidApi":
        """Return a seller of requests in the default dollar token of a network, which `close` disconnects.

        `network` is a CAIP-2 id such as `eip155:84532`. `node`, `facilitator` and `database` are URLs. Raises
        ValueError with the argument's name. For another token or for payment channels, use `PaidApi(Seller(...))`.
        """
        settings = SellerSettings({}, pay_to, _default_token(network))
        client, opened = Client(node), Database(database)
        settles = HTTPFacilitatorClient(FacilitatorConfig(url=facilitator))
        ledger = Ledger(opened, clock=lambda: int(time.time()))
        api = cls(Seller(ledger, RpcNode(client), settles, settings))
        api._closing = [settles.aclose, client.close, opened.close]
        return api

    async def close(self) -> None:
        """Close what `connect` opened. Call it once the application has stopped."""
        while self._closing:
            closing = self._closing.pop(0)()
            if closing is not None:
                await closing

    def install(self, app: Starlette) -> None:
        """Add the middleware that sells the responses, to a Starlette or FastAPI application."""
        app.add_middleware(PaidRoutes, seller=self.seller)

    def wrap(self, app: ASGIApp) -> PaidRoutes:
        """Return the application of Litestar or another framework, in the middleware that sells the responses."""
        return PaidRoutes(app, self.seller)

    def paid(self, *prices: PriceLike) -> Callable[[Handler], Handler]:
        """Return a decorator that sells a handler's response.

        Several prices are alternatives. Put it below the decorator of the route. Raises ValueError for an invalid
        price.
        """
        declared = self.seller.offers.declare(*prices)

        def decorate(handler: Handler) -> Handler:
            if _has_websocket(handler):
                raise TypeError(f"paid: {handler.__qualname__} handles a WebSocket, which cannot be paid")

            if inspect.iscoroutinefunction(handler):

                @functools.wraps(handler)
                async def paid(*args: object, **kwargs: object) -> object:
                    granted_charge(self.seller.offers, declared)
                    return await handler(*args, **kwargs)
            else:

                @functools.wraps(handler)
                def paid(*args: object, **kwargs: object) -> object:
                    granted_charge(self.seller.offers, declared)
                    return handler(*args, **kwargs)

            return paid  # type: ignore[return-value]

        return decorate

    def payment(self, *prices: PriceLike) -> Callable[[], Awaitable[Charge]]:
        """Return a FastAPI dependency that sells a handler's response and provides its charge.

        Several prices are alternatives. Raises ValueError for an invalid price.
        """
        declared = self.seller.offers.declare(*prices)

        async def payment() -> Charge:
            return granted_charge(self.seller.offers, declared)

        return payment

    def guard(self, *prices: PriceLike) -> Callable[[object, object], Awaitable[None]]:
        """Return a Litestar guard that sells the responses of a handler, a controller or a router.

        Several prices are alternatives. Unlike `paid`, it also sells responses from Litestar's response cache. Raises
        ValueError for an invalid price.
        """
        declared = self.seller.offers.declare(*prices)

        async def guard(connection: object, route_handler: object) -> None:
            granted_charge(self.seller.offers, declared)

        return guard


def _default_token(network: str) -> Domain:
    family, _, chain = network.partition(":")
    if family != "eip155" or not chain.isdecimal():
        raise ValueError(f"network: {network!r} is not an EVM chain such as 'eip155:84532'")
    try:
        token = get_default_asset(network)
    except ValueError:
        reason = "has no default token in the package x402: use PaidApi(Seller(...)) with SellerSettings.domain"
        raise ValueError(f"network: {network} {reason}") from None
    return Domain(token["name"], token["version"], int(chain), token["asset"])


def _has_websocket(handler: Callable[..., object]) -> bool:
    """Return True if a handler has a parameter that is annotated as a WebSocket, of any framework."""
    kinds = [parameter.annotation for parameter in inspect.signature(handler).parameters.values()]
    names = [kind if isinstance(kind, str) else getattr(kind, "__name__", "") for kind in kinds]
    return any(name.partition("[")[0].rpartition(".")[2] == "WebSocket" for name in names)
