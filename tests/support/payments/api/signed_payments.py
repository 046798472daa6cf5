"""Bodies of signed payments."""

from typing import Any

from eth_account.signers.local import LocalAccount

from foreseal.payments.typed_data import ReceiveAuthorization, random_nonce
from payments.api.service_harness import ServiceHarness
from payments.shop import BUYER


def payment(
    service: ServiceHarness, id: str | None, amount: int = 500, buyer: LocalAccount = BUYER, **more: Any
) -> Any:
    """Return the body of a signed payment that is captured at once."""
    until = more.get("valid_before", service.pending_time() + 600)
    merchant = service.backend.destinations.get(more.get("destination")).merchant
    nonce = more.pop("nonce", random_nonce())
    signed = ReceiveAuthorization(buyer.address, merchant.receiver, amount, 0, until, nonce)
    signature = signed.sign(merchant.domain, bytes(buyer.key))
    body = {
        "payer": buyer.address,
        "amount": str(amount),
        "valid_before": until,
        "nonce": "0x" + signed.nonce.hex(),
        "signature": "0x" + signature.hex(),
        "capture": True,
    }
    return body | ({} if id is None else {"id": id}) | more
