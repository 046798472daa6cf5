"""Payments signed by the stock client of the package `x402`, or manually if it would refuse to sign."""

import asyncio
import itertools
import time
from typing import Any

from eth_account.signers.local import LocalAccount
from x402 import x402Client
from x402.mechanisms.evm.exact.client import ExactEvmScheme
from x402.mechanisms.evm.signers import EthAccountSigner
from x402.mechanisms.evm.upto.client import UptoEvmScheme
from x402.schemas import PaymentPayload, PaymentRequired, PaymentRequirements, ResourceInfo

from foreseal.payments.typed_data import TransferAuthorization
from payments.x402.world import DOMAIN, FACILITATOR, NETWORK, SHOP, TOKEN

_nonces = itertools.count(int(time.time() * 1000) << 64)


def demand(amount: int = 1000, scheme: str = "exact", **changes: Any) -> PaymentRequirements:
    """Return a seller's payment requirements."""
    extra: dict[str, Any] = {"name": DOMAIN.name, "version": DOMAIN.version}
    if scheme == "upto":
        extra |= {"assetTransferMethod": "permit2", "facilitatorAddress": FACILITATOR.address}
    given: dict[str, Any] = {
        "scheme": scheme,
        "network": NETWORK,
        "asset": TOKEN,
        "amount": str(amount),
        "pay_to": SHOP.address,
        "max_timeout_seconds": 60,
        "extra": extra,
    }
    given["extra"] |= changes.pop("extra", {})
    return PaymentRequirements(**(given | changes))


def over_permit2(amount: int = 1000, **changes: Any) -> PaymentRequirements:
    """Return payment requirements through Permit2."""
    return demand(amount, extra={"assetTransferMethod": "permit2"}, **changes)


def stock_client(buyer: LocalAccount) -> x402Client:
    """Return the package's client with exact and upto."""
    signer = EthAccountSigner(buyer)
    return x402Client().register(NETWORK, ExactEvmScheme(signer)).register(NETWORK, UptoEvmScheme(signer))


def pay(buyer: LocalAccount, asked: PaymentRequirements, url: str | None = None) -> PaymentPayload:
    """Return the stock client's payment for requirements."""
    resource = None if url is None else ResourceInfo(url=url)
    required = PaymentRequired(accepts=[asked], resource=resource)
    payload = asyncio.run(stock_client(buyer).create_payment_payload(required))
    assert isinstance(payload, PaymentPayload)
    return payload


def manual_payment(buyer: LocalAccount, asked: PaymentRequirements, **changes: Any) -> PaymentPayload:
    """Return an EIP-3009 payment with terms that the stock client would not sign."""
    now = int(time.time())
    terms: dict[str, Any] = {
        "payer": buyer.address,
        "payee": asked.pay_to,
        "value": int(asked.amount),
        "valid_after": 0,
        "valid_before": now + 60,
        "nonce": next(_nonces).to_bytes(32, "big"),
    }
    signed = TransferAuthorization(**(terms | changes))
    values = signed.typed_data(DOMAIN)["message"]
    signature = "0x" + signed.sign(DOMAIN, bytes(buyer.key)).hex()
    payload = {"authorization": values, "signature": signature}
    return PaymentPayload(payload=payload, accepted=asked)
