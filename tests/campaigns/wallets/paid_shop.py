"""A seller of HTTP responses (`PaidApi`) with a price for each scheme, and payments by wallets."""

import asyncio
import itertools
import secrets
from collections.abc import Sequence
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from x402 import x402Client
from x402.http.clients.httpx import x402AsyncTransport
from x402.http.utils import decode_payment_required_header, encode_payment_signature_header
from x402.mechanisms.evm.batch_settlement.client import BatchSettlementEvmScheme, BatchSettlementEvmSchemeOptions
from x402.mechanisms.evm.batch_settlement.server import BatchSettlementEvmScheme as ServerScheme
from x402.mechanisms.evm.batch_settlement.server.channel_manager import (
    BatchSettlementChannelManager,
    ChannelManagerConfig,
)
from x402.mechanisms.evm.exact.client import ExactEvmScheme
from x402.mechanisms.evm.signers import EthAccountSigner
from x402.mechanisms.evm.upto.client import UptoEvmScheme
from x402.schemas import PaymentPayload, PaymentRequired, PaymentRequirements, ResourceInfo

from foreseal.payments.chain import RpcNode
from foreseal.payments.ledger import Ledger
from foreseal.payments.typed_data import Domain
from foreseal.payments.x402.facilitator.facilitator import Facilitator, InProcessFacilitator
from foreseal.payments.x402.seller.paid_api import PaidApi
from foreseal.payments.x402.seller.payment_requirements import SellerSettings
from foreseal.payments.x402.seller.prices import Price, Scheme, TransferMethod
from foreseal.payments.x402.seller.seller import Seller
from payments.shop import SHOP
from wallets.people import AUTHORIZER, Payer

ORIGIN = "http://paid.test"
PRICE, CHARGE, TICK, DEPOSIT = 1_000, 600, 100, 3_000
"""Prices, the charge of `upto`, the price of a voucher and a channel's deposit, in smallest units."""
VOUCHERS = 2
"""Requests of each channel."""
_DAY = 86_400
PATHS = {"exact": "/exact", "permit2": "/permit2", "upto": "/upto", "channel": "/tick"}


class PaidShop:
    """The seller, its application, and its buyers."""

    def __init__(self, ledger: Ledger, node: RpcNode, facilitator: Facilitator, domain: Domain) -> None:
        self.facilitator = InProcessFacilitator(facilitator)
        settings = SellerSettings({}, SHOP.address, domain, authorizer=AUTHORIZER, origin=ORIGIN, page=None)
        self.seller = Seller(ledger, node, self.facilitator, settings)
        self.network = settings.network
        self._domain = domain
        api = PaidApi(self.seller)

        runs = itertools.count(1)

        @api.paid(Price(PRICE, seconds=_DAY))
        async def exact(request: Request) -> Response:
            return JSONResponse({"run": next(runs)})

        @api.paid(Price(PRICE, transfer_method=TransferMethod.PERMIT2, seconds=_DAY))
        async def permit2(request: Request) -> Response:
            return JSONResponse({"run": next(runs)})

        @api.paid(Price(PRICE, Scheme.UPTO, seconds=_DAY))
        async def upto(request: Request) -> Response:
            request.state.payment.charge(CHARGE)
            return JSONResponse({"run": next(runs)})

        @api.paid(Price(TICK, Scheme.BATCH, seconds=_DAY))
        async def tick(request: Request) -> Response:
            return JSONResponse({"run": next(runs)})

        self.app = Starlette(
            routes=[
                Route(path, handler) for path, handler in zip(PATHS.values(), (exact, permit2, upto, tick), strict=True)
            ]
        )
        api.install(self.app)

    def demand(self, path: str) -> PaymentRequirements:
        """Return the payment requirements of a path."""
        [response] = self._get([path])
        accepted = decode_payment_required_header(response.headers["payment-required"]).accepts[0]
        assert isinstance(accepted, PaymentRequirements)
        return accepted

    def payment(self, payer: Payer, path: str, demand: PaymentRequirements | None = None) -> PaymentPayload:
        """Return a payer's payment for a path, whose current demand is requested by default."""
        required = PaymentRequired(accepts=[demand or self.demand(path)], resource=ResourceInfo(url=ORIGIN + path))
        payload = asyncio.run(self._client(payer).create_payment_payload(required))
        assert isinstance(payload, PaymentPayload)
        return payload

    def buy(self, path: str, payment: PaymentPayload) -> httpx.Response:
        """Return the response to a request with a payment."""
        [response] = self._get([path], {"payment-signature": encode_payment_signature_header(payment)})
        return response

    def buy_ticks(self, payer: Payer) -> list[httpx.Response]:
        """Open a channel and send requests with its vouchers, up to the first that is not answered with 200."""

        async def buying() -> list[httpx.Response]:
            transport = x402AsyncTransport(self._client(payer), httpx.ASGITransport(self.app))
            responses: list[httpx.Response] = []
            async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as client:
                while len(responses) < VOUCHERS and (not responses or responses[-1].status_code == 200):
                    responses.append(await client.get(PATHS["channel"]))
            return responses

        return asyncio.run(buying())

    def claim(self) -> None:
        """Claim all vouchers, and send the money to the payee."""

        async def claiming() -> None:
            await self.seller.offers.start()
            scheme = self.seller.offers.server.get_registered_scheme(self.network, "batch-settlement")
            assert isinstance(scheme, ServerScheme)
            config = ChannelManagerConfig(scheme, self.facilitator, SHOP.address, self._domain.contract, self.network)
            await BatchSettlementChannelManager(config).claim_and_settle()

        asyncio.run(claiming())

    def follow(self) -> None:
        """Run the seller's periodic work."""
        asyncio.run(self.seller.follow())

    def _get(self, paths: Sequence[str], headers: dict[str, str] | None = None) -> list[httpx.Response]:
        async def getting() -> list[httpx.Response]:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url=ORIGIN) as client:
                return [await client.get(path, headers=headers) for path in paths]

        return asyncio.run(getting())

    def _client(self, payer: Payer) -> x402Client:
        """Return the package's client of a payer, whose key signs vouchers."""
        signer = payer.x402_signer()
        options: dict[str, Any] = {"salt": "0x" + secrets.token_hex(32), "deposit_strategy": lambda _: str(DEPOSIT)}
        channels = BatchSettlementEvmSchemeOptions(**options, voucher_signer=EthAccountSigner(payer.key))
        client = x402Client().set_spend_controls(False).register(self.network, ExactEvmScheme(signer))
        client = client.register(self.network, UptoEvmScheme(signer))
        return client.register(self.network, BatchSettlementEvmScheme(signer, channels))
