"""A seller with scripted responses, for buyers; the package x402 parses the requests."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
from x402.http.utils import (
    decode_payment_signature_header,
    encode_payment_required_header,
    encode_payment_response_header,
)
from x402.schemas import PaymentPayload, PaymentRequired, PaymentRequirements, ResourceInfo, SettleResponse

NETWORK = "eip155:84532"
TOKEN = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
PAYEE = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
HASH = "0x" + 32 * "ab"

Answer = Callable[[PaymentPayload], httpx.Response]


def terms(amount: int | str = 1000, **other: Any) -> PaymentRequirements:
    """Return a seller's payment requirements."""
    usual: dict[str, Any] = {
        "scheme": "exact",
        "network": NETWORK,
        "asset": TOKEN,
        "amount": str(amount),
        "pay_to": PAYEE,
        "max_timeout_seconds": 60,
        "extra": {"name": "USDC", "version": "2"},
    }
    return PaymentRequirements(**(usual | other))


def required(*accepts: PaymentRequirements, **other: Any) -> str:
    """Return the header PAYMENT-REQUIRED."""
    asked = PaymentRequired(accepts=list(accepts or [terms()]), resource=ResourceInfo(url="http://seller/"), **other)
    return encode_payment_required_header(asked)


def settled(success: bool = True, transaction: str = HASH, **other: Any) -> dict[str, str]:
    """Return the header PAYMENT-RESPONSE, as a mapping."""
    told = SettleResponse(success=success, transaction=transaction, network=NETWORK, **other)
    return {"PAYMENT-RESPONSE": encode_payment_response_header(told)}


def paid(payload: PaymentPayload) -> httpx.Response:
    """Return a response after a real settlement."""
    return httpx.Response(200, text="the answer", headers=settled(payer="0x1"))


def refused(payload: PaymentPayload) -> httpx.Response:
    """Return a rejection before settlement."""
    return httpx.Response(402, text="no", headers={"PAYMENT-REQUIRED": required(error="insufficient_funds")})


@dataclass
class Seller:
    """Requires payment, and handles paid requests with `answer`."""

    answer: Answer = paid
    accepts: tuple[PaymentRequirements, ...] = field(default_factory=lambda: (terms(),))
    free: tuple[str, ...] = ()
    """Paths that cost nothing."""
    moved: dict[str, str] = field(default_factory=dict)
    """Redirect targets of paths."""
    requests: list[httpx.Request] = field(default_factory=list)
    payments: list[PaymentPayload] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if (there := self.moved.get(request.url.path)) is not None:
            return httpx.Response(307, headers={"Location": there})
        if request.url.path in self.free:
            return httpx.Response(200, text="free")
        header = request.headers.get("PAYMENT-SIGNATURE")
        if header is None:
            return httpx.Response(402, text="pay", headers={"PAYMENT-REQUIRED": required(*self.accepts)})
        payload = decode_payment_signature_header(header)
        assert isinstance(payload, PaymentPayload)
        self.payments.append(payload)
        return self.answer(payload)
