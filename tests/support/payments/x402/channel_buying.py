"""Requests with vouchers of payment channels by the stock client, and the package's manager of the channels."""

import asyncio
import secrets
from typing import Any

import httpx
from x402 import x402Client
from x402.http.clients.httpx import x402AsyncTransport
from x402.http.utils import decode_payment_signature_header
from x402.mechanisms.evm.batch_settlement.client import (
    BatchSettlementEvmScheme,
    BatchSettlementEvmSchemeOptions,
)
from x402.mechanisms.evm.batch_settlement.server import BatchSettlementEvmScheme as ServerScheme
from x402.mechanisms.evm.batch_settlement.server.channel_manager import (
    BatchSettlementChannelManager,
    ChannelManagerConfig,
)
from x402.mechanisms.evm.signers import EthAccountSigner
from x402.schemas import PaymentPayload

from payments.x402.selling import ORIGIN, Selling
from payments.x402.world import NETWORK, SHOP, TOKEN


class Recorded(httpx.ASGITransport):
    """Records the payments that pass through."""

    def __init__(self, app: Any) -> None:
        super().__init__(app)
        self.payments: list[PaymentPayload] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        given = request.headers.get("payment-signature")
        if given is not None:
            payload = decode_payment_signature_header(given)
            assert isinstance(payload, PaymentPayload)
            self.payments.append(payload)
        return await super().handle_async_request(request)


def buying(
    selling: Selling, buyer: Any, times: int, path: str = "/tick", authorizer: str | None = None
) -> tuple[list[httpx.Response], Recorded]:
    """Send this many requests with the stock client, which opens a channel first; return responses and payments."""
    recorded = Recorded(selling.app)
    return asyncio.run(buy(recorded, buyer, times, path, authorizer)), recorded


async def buy(
    recorded: Recorded, buyer: Any, times: int, path: str, authorizer: str | None = None
) -> list[httpx.Response]:
    # Each test has its own channel, because the databases of the tests are separate.
    salt = "0x" + secrets.token_hex(32)
    config = BatchSettlementEvmSchemeOptions(salt=salt, deposit_strategy=lambda _: "3000", payer_authorizer=authorizer)
    stock = x402Client().register(NETWORK, BatchSettlementEvmScheme(EthAccountSigner(buyer), config))
    transport = x402AsyncTransport(stock, recorded)
    async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as client:
        return [await client.get(path) for _ in range(times)]


async def buy_once(recorded: Recorded, buyer: Any, path: str) -> httpx.Response:
    [response] = await buy(recorded, buyer, 1, path)
    return response


def manager(selling: Selling, facilitator: Any = None) -> BatchSettlementChannelManager:
    """Return the package's manager, which claims vouchers and refunds channels."""
    scheme = selling.seller.offers.server.get_registered_scheme(NETWORK, "batch-settlement")
    assert isinstance(scheme, ServerScheme)
    config = ChannelManagerConfig(scheme, facilitator or selling.facilitator, SHOP.address, TOKEN, NETWORK)
    return BatchSettlementChannelManager(config)
