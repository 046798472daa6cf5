"""Sellers by name: fastapi's middleware of the package x402, @x402/express, and ours."""

import contextlib
import os
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Response
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from x402 import x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.http.middleware.fastapi import payment_middleware, set_settlement_overrides
from x402.mechanisms.evm.batch_settlement.authorizer_signer import LocalAuthorizerSigner
from x402.mechanisms.evm.batch_settlement.server import BatchSettlementEvmScheme, BatchSettlementEvmSchemeServerConfig
from x402.mechanisms.evm.exact import ExactEvmServerScheme
from x402.mechanisms.evm.upto import UptoEvmServerScheme

from foreseal.client import Client
from foreseal.payments.chain import RpcNode
from foreseal.payments.ledger import Database, Ledger
from foreseal.payments.x402.seller.middleware import PaidRoutes
from foreseal.payments.x402.seller.payment_requirements import SellerSettings
from foreseal.payments.x402.seller.prices import Price, Scheme, TransferMethod
from foreseal.payments.x402.seller.seller import Seller
from npm import find_node, install
from payments.x402.pairings.prices import ALL, BROKEN, HERE, as_json
from payments.x402.pairings.serving import serving
from payments.x402.world import AUTHORIZER, DOMAIN, NETWORK, SHOP, World

Selling = Callable[[World, str, Path], AbstractContextManager[str]]
"""Provides the URL of a seller that settles with the facilitator at a URL, with a folder for its data."""


@contextlib.contextmanager
def stock(world: World, facilitator: str, _: Path) -> Iterator[str]:
    """Run the package's seller in Python."""
    config = BatchSettlementEvmSchemeServerConfig(receiver_authorizer_signer=LocalAuthorizerSigner(AUTHORIZER))
    settles = HTTPFacilitatorClient(FacilitatorConfig(url=facilitator))
    resources = x402ResourceServer(settles)
    # Two constructors have no annotations, and one scheme has the names of its parameters for itself.
    plain: tuple[Any, ...] = (ExactEvmServerScheme, UptoEvmServerScheme)
    for make in plain:
        resources.register(NETWORK, make())
    batch: Any = BatchSettlementEvmScheme(SHOP.address, config)
    resources.register(NETWORK, batch)

    @contextlib.asynccontextmanager
    async def closing(_: FastAPI) -> AsyncIterator[None]:
        yield
        await settles.aclose()

    app = FastAPI(lifespan=closing)
    routes: Any = {f"GET {price.path}": {"accepts": price.accepts()} for price in ALL}
    app.middleware("http")(payment_middleware(routes, resources))
    for price in ALL:

        def answer(response: Response, charged: int | None = price.charged, path: str = price.path) -> dict[str, str]:
            if charged is not None:
                set_settlement_overrides(response, {"amount": str(charged)})
            response.status_code = 500 if path == BROKEN.path else 200
            return {"from": path}

        app.get(price.path)(answer)
    with serving(app) as url:
        yield url


@contextlib.contextmanager
def typescript(world: World, facilitator: str, _: Path) -> Iterator[str]:
    """Run @x402/express."""
    node = find_node()
    install(HERE)
    key = "0x" + bytes(AUTHORIZER.key).hex()
    environment = {**os.environ, "FACILITATOR": facilitator, "PRICES": as_json(), "PAYEE": SHOP.address, "KEY": key}
    server = subprocess.Popen(
        [node, "express.mjs"], cwd=HERE, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        assert port.isdigit(), "express.mjs ended; what it said is above"
        yield f"http://127.0.0.1:{port}"
    finally:
        server.communicate(timeout=30)  # it ends when its input does


@contextlib.contextmanager
def ours(world: World, facilitator: str, folder: Path) -> Iterator[str]:
    """Run `PaidRoutes`."""
    with contextlib.ExitStack() as opened:
        database = Database(f"sqlite:///{folder}/seller.db")
        opened.callback(database.close)
        node = RpcNode(opened.enter_context(Client(world.url)))
        settles = HTTPFacilitatorClient(FacilitatorConfig(url=facilitator))
        prices = {
            f"GET {price.path}": Price(price.amount, Scheme(price.scheme), TransferMethod(price.method))
            for price in ALL
        }
        shop = SellerSettings(prices, SHOP.address, DOMAIN, authorizer=AUTHORIZER)
        seller = Seller(Ledger(database, lambda: int(time.time())), node, settles, shop)

        async def answer(request: Request) -> JSONResponse:
            charged = next(price.charged for price in ALL if price.path == request.url.path)
            if charged is not None:
                request.state.payment.charge(charged)
            return JSONResponse({"from": request.url.path}, 500 if request.url.path == BROKEN.path else 200)

        @contextlib.asynccontextmanager
        async def closing(_: Starlette) -> AsyncIterator[None]:
            yield
            await settles.aclose()

        app = Starlette(routes=[Route(price.path, answer) for price in ALL], lifespan=closing)
        yield opened.enter_context(serving(PaidRoutes(app, seller)))


SERVERS: dict[str, Selling] = {"python": stock, "typescript": typescript, "ours": ours}
