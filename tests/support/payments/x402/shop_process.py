"""A seller as a separate process: `python -m payments.x402.shop_process NODE DATABASE FACILITATOR RUNS`.

FACILITATOR is the URL of one, or `here`: then it settles by itself. Every run of a handler adds a line to the file
RUNS. Prints its URL, and ends with its standard input.
"""

import asyncio
import os
import sys
import time
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from x402.http.facilitator_client import HTTPFacilitatorClient
from x402.http.facilitator_client_base import FacilitatorConfig

from foreseal.client import Client
from foreseal.payments.chain import ConfirmationPolicy, RpcNode
from foreseal.payments.ledger import Database, Ledger
from foreseal.payments.transactions import LocalSigner, TransactionIntents, TransactionSender
from foreseal.payments.x402.facilitator.facilitator import Facilitator, InProcessFacilitator
from foreseal.payments.x402.facilitator.settlements import Settlements
from foreseal.payments.x402.seller.middleware import PaidRoutes
from foreseal.payments.x402.seller.payment_requirements import SellerSettings
from foreseal.payments.x402.seller.prices import Price, Scheme, TransferMethod
from foreseal.payments.x402.seller.seller import Seller
from foreseal.server.asgi.granian import GranianListener
from foreseal.server.sockets.listening import bind
from payments.x402.world import CHAIN_ID, DOMAIN, FACILITATOR, PATIENT, SHOP

PRICES = {
    "GET /report": Price(1000),
    "GET /permit2": Price(1000, transfer_method=TransferMethod.PERMIT2),
    "GET /upto": Price(1000, Scheme.UPTO),
}


def main(node_url: str, database_url: str, facilitator_url: str, runs: str) -> None:
    """Serve until standard input ends."""
    node = RpcNode(Client(node_url))
    ledger = Ledger(Database(database_url), lambda: int(time.time()))
    facilitator: Any = HTTPFacilitatorClient(FacilitatorConfig(url=facilitator_url))
    if facilitator_url == "here":
        sender = TransactionSender(
            ledger, node, TransactionIntents(CHAIN_ID, LocalSigner(FACILITATOR)), ConfirmationPolicy()
        )
        facilitator = InProcessFacilitator(Facilitator(Settlements(ledger, sender, PATIENT)))
    seller = Seller(ledger, node, facilitator, SellerSettings(PRICES, SHOP.address, DOMAIN))

    async def handler(request: Request) -> Response:
        file = os.open(runs, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, f"{request.state.payment.payment.key.name}\n".encode())
        os.close(file)
        if request.url.path == "/upto":
            request.state.payment.charge(400)
        return JSONResponse({"by": os.getpid()})

    app = Starlette(routes=[Route(path.partition(" ")[2], handler) for path in PRICES])
    asyncio.run(serve(PaidRoutes(app, seller)))


async def serve(app: Any) -> None:
    """Print the URL, and serve until standard input ends."""
    with bind("127.0.0.1", 0) as listening:
        listener = GranianListener(app, listening)
        await listener.start()
        print(listener.url, flush=True)
        await asyncio.to_thread(sys.stdin.read)
        await listener.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
