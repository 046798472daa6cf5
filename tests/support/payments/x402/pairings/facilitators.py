"""Facilitators by name: the package x402's in a small application, and ours."""

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from x402 import x402FacilitatorSync
from x402.extensions.eip2612_gas_sponsoring import EIP2612_GAS_SPONSORING
from x402.mechanisms.evm.batch_settlement.facilitator import BatchSettlementEvmFacilitator
from x402.mechanisms.evm.exact import ExactEvmFacilitatorScheme
from x402.mechanisms.evm.signers import FacilitatorWeb3Signer
from x402.mechanisms.evm.upto import UptoEvmFacilitatorScheme
from x402.schemas import SettleRequest, VerifyRequest

from foreseal.client import Client
from foreseal.payments.chain import ConfirmationPolicy, RpcNode
from foreseal.payments.ledger import Database, Ledger
from foreseal.payments.transactions import FeeSettings, LocalSigner, TransactionIntents, TransactionSender
from foreseal.payments.x402.facilitator.app import facilitator_app
from foreseal.payments.x402.facilitator.facilitator import Facilitator
from foreseal.payments.x402.facilitator.settlements import Settlements
from payments.x402.pairings.serving import serving
from payments.x402.world import CHAIN_ID, FACILITATOR, NETWORK, OTHER_FACILITATOR, PATIENT, World

Facilitating = Callable[[World, Path], AbstractContextManager[str]]
"""Provides the URL of a facilitator for a node, with a folder for its data."""


@contextlib.contextmanager
def stock(world: World, _: Path) -> Iterator[str]:
    """Run the package's facilitator."""
    signer = FacilitatorWeb3Signer("0x" + bytes(OTHER_FACILITATOR.key).hex(), world.url)
    schemes = (
        ExactEvmFacilitatorScheme(signer),
        UptoEvmFacilitatorScheme(signer),
        BatchSettlementEvmFacilitator(signer),
    )
    facilitator = x402FacilitatorSync()
    facilitator.register_extension(EIP2612_GAS_SPONSORING)
    for scheme in schemes:
        facilitator.register([NETWORK], scheme)

    async def verify(request: Request) -> Response:
        asked = VerifyRequest.model_validate_json(await request.body())
        return _json(await run_in_threadpool(facilitator.verify, asked.payment_payload, asked.payment_requirements))

    async def settle(request: Request) -> Response:
        asked = SettleRequest.model_validate_json(await request.body())
        return _json(await run_in_threadpool(facilitator.settle, asked.payment_payload, asked.payment_requirements))

    async def supported(_: Request) -> Response:
        return _json(facilitator.get_supported())

    routes = [
        Route("/verify", verify, methods=["POST"]),
        Route("/settle", settle, methods=["POST"]),
        Route("/supported", supported),
    ]
    with serving(Starlette(routes=routes)) as url:
        yield url


@contextlib.contextmanager
def ours(world: World, folder: Path) -> Iterator[str]:
    """Run the facilitator of `foreseal pay facilitator`."""
    with contextlib.ExitStack() as opened:
        database = Database(f"sqlite:///{folder}/facilitator.db")
        opened.callback(database.close)
        node = RpcNode(opened.enter_context(Client(world.url)))
        ledger = Ledger(database, lambda: int(time.time()))
        sender = TransactionSender(
            ledger, node, TransactionIntents(CHAIN_ID, LocalSigner(FACILITATOR)), ConfirmationPolicy(), FeeSettings()
        )
        yield opened.enter_context(serving(facilitator_app(Facilitator(Settlements(ledger, sender, PATIENT)))))


def _json(model: BaseModel) -> Response:
    return JSONResponse(model.model_dump(by_alias=True, exclude_none=True, mode="json"))


FACILITATORS: dict[str, Facilitating] = {"stock": stock, "ours": ours}
