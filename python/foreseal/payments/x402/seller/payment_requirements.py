"""A seller's demands: prices as the package's payment requirements, and 402 responses."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eth_account.signers.local import LocalAccount
from starlette.concurrency import run_in_threadpool
from x402 import x402ResourceServer
from x402.extensions.eip2612_gas_sponsoring import declare_eip2612_gas_sponsoring_extension
from x402.http.constants import PAYMENT_REQUIRED_HEADER
from x402.http.utils import encode_payment_required_header
from x402.mechanisms.evm.batch_settlement.authorizer_signer import LocalAuthorizerSigner
from x402.mechanisms.evm.batch_settlement.server import BatchSettlementEvmScheme, BatchSettlementEvmSchemeServerConfig
from x402.mechanisms.evm.exact.server import ExactEvmScheme
from x402.mechanisms.evm.upto.server import UptoEvmScheme
from x402.schemas import (
    AssetAmount,
    PaymentPayload,
    PaymentRequired,
    PaymentRequirements,
    ResourceConfig,
    ResourceInfo,
)
from x402.server_base import FacilitatorClient

from foreseal.payments.typed_data import Domain, address
from foreseal.payments.x402.channels import SellerChannels
from foreseal.payments.x402.seller.denomination import Denomination, default_denomination
from foreseal.payments.x402.seller.grants import GrantedResponse
from foreseal.payments.x402.seller.pay_page import PayPage
from foreseal.payments.x402.seller.prices import Price, PriceLike, PriceTable, Scheme, TransferMethod, as_prices

NO_STORE = ("cache-control", "no-store")
JSON = ("content-type", "application/json")


@dataclass(frozen=True, slots=True)
class SellerSettings:
    """A seller's prices, payee account and token."""

    prices: Mapping[str, PriceLike | Sequence[PriceLike]]
    """Prices by route, such as `GET /reports/{name}`."""
    pay_to: str
    domain: Domain
    """Signing domain of the token: name, version, chain and contract."""
    authorizer: LocalAccount | None = None
    """Key that signs claims and refunds of payment channels.

    Required for `batch-settlement`; never give it to facilitators.
    """
    origin: str | None = None
    """Scheme and host that buyers see, such as `https://api.example`; defaults to those of the request."""
    status_path: str = "/x402/payments"
    """Path prefix under which buyers query the status of a payment."""
    denomination: Denomination | None = None
    """Symbol and decimals of the token, for prices in text.

    Defaults to those of the dollar token in `domain`, if the package `x402` lists it.
    """
    page: PayPage | None = field(default_factory=PayPage)
    """Page on which browsers pay; None for JSON in every demand."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "pay_to", address(self.pay_to, "pay_to"))
        if not self.status_path.startswith("/") or self.status_path.endswith("/"):
            raise ValueError(f"status_path: {self.status_path!r} must begin with / and not end with /")
        if self.denomination is None:
            object.__setattr__(self, "denomination", default_denomination(self.domain))
        self.check_schemes(PriceTable(self.prices, self.denomination).all())

    def check_schemes(self, prices: Sequence[Price]) -> None:
        """Raise ValueError if a price needs a key that is not set."""
        if self.authorizer is None and any(price.scheme is Scheme.BATCH for price in prices):
            raise ValueError("authorizer: batch-settlement requires a key that signs claims and refunds")

    @property
    def network(self) -> str:
        """CAIP-2 id of the chain."""
        return f"eip155:{self.domain.chain_id}"


class Offers:
    """Demands of a shop, built on the package's resource server."""

    def __init__(self, shop: SellerSettings, facilitator: FacilitatorClient, storage: SellerChannels) -> None:
        self.shop = shop
        self.table = PriceTable(shop.prices, shop.denomination)
        self.declared: list[Price] = []
        """Prices of handlers, which are not in the table of routes."""
        self.server = x402ResourceServer(facilitator)
        # For a type checker, the package's schemes do not satisfy its own protocol.
        schemes: list[Any] = [ExactEvmScheme(), UptoEvmScheme()]  # type: ignore[no-untyped-call]
        if shop.authorizer is not None:
            signer = LocalAuthorizerSigner(shop.authorizer)
            config = BatchSettlementEvmSchemeServerConfig(storage=storage, receiver_authorizer_signer=signer)
            schemes.append(BatchSettlementEvmScheme(shop.pay_to, config))
        for scheme in schemes:
            self.server.register(shop.network, scheme)
        self._facilitator = facilitator
        self._starting = asyncio.Lock()
        self._extensions: dict[str, object] | None = None
        self._kinds: set[str] = set()

    def declare(self, *options: PriceLike) -> tuple[Price, ...]:
        """Add the payment options of a handler. Return them in smallest units.

        Raises ValueError for no option, an invalid price, and a scheme that the seller or its facilitator lacks.
        """
        if not options:
            raise ValueError("price: a paid handler requires a price such as '$0.01'")
        prices = as_prices(options, self.shop.denomination, "price")
        self.shop.check_schemes(prices)
        if self._extensions is not None:
            self._check_kinds(prices)
        self.declared.extend(prices)
        return prices

    async def start(self) -> None:
        """Load the facilitator's supported kinds once.

        Raises the facilitator's errors, and ValueError for a price that it does not settle.
        """
        async with self._starting:
            if self._extensions is not None:
                return
            await run_in_threadpool(self.server.initialize)
            supported = await run_in_threadpool(self._facilitator.get_supported)
            self._kinds = {kind.scheme for kind in supported.kinds if kind.network == self.shop.network}
            self._check_kinds([*self.table.all(), *self.declared])
            permits = declare_eip2612_gas_sponsoring_extension()
            self._extensions = {name: extension for name, extension in permits.items() if name in supported.extensions}

    def requirements(self, prices: Sequence[Price]) -> list[PaymentRequirements]:
        """Return the package's requirements for these prices."""
        return [
            requirements
            for price in prices
            for requirements in self.server.build_payment_requirements(self._config(price))
        ]

    async def demand(
        self, prices: Sequence[Price], url: str, error: str, payment: PaymentPayload | None = None
    ) -> tuple[PaymentRequired, GrantedResponse]:
        """Return the content of a 402 response, and the response."""
        permit2 = any(
            price.transfer_method is TransferMethod.PERMIT2 or price.scheme is Scheme.UPTO for price in prices
        )
        required = await self.server.create_payment_required_response(
            self.requirements(prices),
            ResourceInfo(url=url),
            error,
            dict(self._extensions or {}) if permit2 else None,
            None,
            payment,
        )
        body = required.model_dump_json(by_alias=True, exclude_none=True).encode()
        header = (PAYMENT_REQUIRED_HEADER.lower(), encode_payment_required_header(required))
        return required, GrantedResponse(402, (JSON, NO_STORE, header), body)

    def _check_kinds(self, prices: Sequence[Price]) -> None:
        for price in prices:
            if price.scheme.value not in self._kinds:
                raise ValueError(f"prices: the facilitator does not settle {price.scheme} on {self.shop.network}")

    def _config(self, price: Price) -> ResourceConfig:
        domain = self.shop.domain
        extra: dict[str, object] = {"name": domain.name, "version": domain.version}
        if price.transfer_method is TransferMethod.PERMIT2 or price.scheme is Scheme.UPTO:
            extra["assetTransferMethod"] = TransferMethod.PERMIT2.value
        return ResourceConfig(
            scheme=price.scheme.value,
            pay_to=self.shop.pay_to,
            price=AssetAmount(amount=str(price.units), asset=domain.contract, extra=extra),
            network=self.shop.network,
            max_timeout_seconds=price.seconds,
        )
