"""Signatures for offers by the schemes of the package `x402`, after the amount is reserved."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from x402 import x402ClientSync
from x402.http import x402HTTPClientSync
from x402.mechanisms.evm.batch_settlement.client import BatchSettlementEvmScheme
from x402.mechanisms.evm.batch_settlement.client.config import (
    BatchSettlementDepositStrategyContext,
    BatchSettlementEvmSchemeOptions,
)
from x402.mechanisms.evm.batch_settlement.client.storage import ClientChannelStorage
from x402.mechanisms.evm.exact import ExactEvmClientScheme
from x402.mechanisms.evm.upto import UptoEvmClientScheme
from x402.schemas import NoMatchingRequirementsError, PaymentPayload, PaymentRequired

from foreseal.payments.x402.buyer.errors import PolicyViolation, PurchaseRejected, Rule, Unreadable
from foreseal.payments.x402.buyer.spending_policy import Offer
from foreseal.payments.x402.payment_key import BATCH, EXACT, UPTO, Payment, granted, settled

Reserve = Callable[[int, str | None], None]
"""Callback before signing, with the amount in units and the id of the channel for a deposit, else None."""


@dataclass(frozen=True, slots=True)
class PaymentSignature:
    """A payment in the form that the seller receives."""

    payload: PaymentPayload
    signed: Payment
    http: x402HTTPClientSync
    """Client that processes the response for the scheme."""

    @property
    def headers(self) -> dict[str, str]:
        """Return the header PAYMENT-SIGNATURE."""
        return self.http.encode_payment_signature_header(self.payload)


class PaymentSigner:
    """A key with the state of its payment channels."""

    def __init__(self, key: Any, channels: ClientChannelStorage) -> None:
        """Set up the signer. `key` is an eth-account account or a `ClientEvmSigner` of the package `x402`."""
        self._key = key
        self._channels = channels
        self.address = str(key.address)

    def sign(self, required: PaymentRequired, offer: Offer, reserve: Reserve) -> PaymentSignature:
        """Reserve the amount of an offer, then sign it.

        Raises the errors of `reserve`, `PurchaseRejected` for a deposit beyond its cap, and `Unreadable` for terms that
        the scheme rejects.
        """
        client = x402ClientSync()
        client.set_spend_controls(False)  # the policy controls the spending
        client.register(offer.terms.network, self._scheme(offer, reserve))
        # Only this offer, since the package would choose among several.
        single = required.model_copy(update={"accepts": [offer.terms]})
        if offer.terms.scheme != BATCH:
            reserve(offer.amount, None)
        try:
            payload = client.create_payment_payload(single)
        except (ValueError, TypeError, KeyError, NoMatchingRequirementsError) as error:
            raise Unreadable(f"{offer.terms.scheme} on {offer.terms.network}: {error}") from error
        assert isinstance(payload, PaymentPayload), "the package signs for version 2 what version 2 asks for"
        return PaymentSignature(payload, _signed(payload), x402HTTPClientSync(client))

    def _scheme(self, offer: Offer, reserve: Reserve) -> Any:
        if offer.terms.scheme == EXACT:
            return ExactEvmClientScheme(self._key)
        if offer.terms.scheme == UPTO:
            return UptoEvmClientScheme(self._key)

        def deposit(context: BatchSettlementDepositStrategyContext) -> int:
            amount = _deposit(offer, context)
            reserve(amount, context.channel_id)
            return amount

        options = BatchSettlementEvmSchemeOptions(deposit_strategy=deposit, storage=self._channels)
        return BatchSettlementEvmScheme(self._key, options)


def _deposit(offer: Offer, context: BatchSettlementDepositStrategyContext) -> int:
    """Return the deposit into a channel: the amount that the package or the seller proposes, limited by the cap."""
    least, cap = int(context.minimum_deposit_amount), offer.caps.per_deposit
    if least > cap:
        text = f"a deposit of {least} units of {offer.asset} is required, the maximum is {cap}"
        raise PurchaseRejected((PolicyViolation(Rule.PER_DEPOSIT, text, least, None, cap),))
    return min(int(context.deposit_amount), cap)


def _signed(payload: PaymentPayload) -> Payment:
    """Return the payment with the key that the chain records. For a voucher, only the seller has such a key."""
    if payload.accepted.scheme == BATCH and payload.payload.get("type") == "voucher":
        return granted(payload)
    return settled(payload, payload.accepted)
