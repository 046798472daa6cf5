"""Signs an offer with the schemes of the package `x402`, each after the amount was reserved."""

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

from foreseal.payments.x402.buying.errors import PaymentRefused, Refusal, Rule, Unreadable
from foreseal.payments.x402.buying.policy import Offer
from foreseal.payments.x402.identities import BATCH, EXACT, UPTO, granted, settled
from foreseal.payments.x402.identities import Payment as SignedPayment

Reserve = Callable[[int, str | None], None]
"""Is told the units that are about to be signed for, and the id of the channel that they go into, if any."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A payment as the seller gets it."""

    payload: PaymentPayload
    signed: SignedPayment
    http: x402HTTPClientSync
    """Knows what the scheme has to learn from the answer."""

    @property
    def headers(self) -> dict[str, str]:
        """PAYMENT-SIGNATURE."""
        return self.http.encode_payment_signature_header(self.payload)


class Signer:
    """A key, and the channels it has paid into."""

    def __init__(self, key: Any, channels: ClientChannelStorage) -> None:
        """`key` is what the package `x402` takes: an account of eth-account, or a `ClientEvmSigner`."""
        self._key = key
        self._channels = channels
        self.address = str(key.address)

    def sign(self, required: PaymentRequired, offer: Offer, reserve: Reserve) -> Signature:
        """Reserve what an offer asks for, then sign it.

        Raises what `reserve` raises, `PaymentRefused` for a deposit beyond its cap, and `Unreadable` for terms that
        the scheme cannot make sense of.
        """
        client = x402ClientSync()
        client.set_spend_controls(False)  # the policy controls the spending
        client.register(offer.terms.network, self._scheme(offer, reserve))
        # Only this offer: the package would choose by itself.
        single = required.model_copy(update={"accepts": [offer.terms]})
        if offer.terms.scheme != BATCH:
            reserve(offer.amount, None)
        try:
            payload = client.create_payment_payload(single)
        except (ValueError, TypeError, KeyError, NoMatchingRequirementsError) as error:
            raise Unreadable(f"{offer.terms.scheme} on {offer.terms.network}: {error}") from error
        assert isinstance(payload, PaymentPayload), "the package signs for version 2 what version 2 asks for"
        return Signature(payload, _signed(payload), x402HTTPClientSync(client))

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
    """What goes into a channel: what the package or the seller proposes, but no more than the cap."""
    least, cap = int(context.minimum_deposit_amount), offer.caps.per_deposit
    if least > cap:
        text = f"a deposit of {least} units of {offer.asset} is needed, at most {cap} are allowed"
        raise PaymentRefused((Refusal(Rule.PER_DEPOSIT, text, least, None, cap),))
    return min(int(context.deposit_amount), cap)


def _signed(payload: PaymentPayload) -> SignedPayment:
    """What the chain will know the payment by. A voucher is known by the seller alone."""
    if payload.accepted.scheme == BATCH and payload.payload.get("type") == "voucher":
        return granted(payload)
    return settled(payload, payload.accepted)
