"""Outcome of a payment from the chain alone: settled, canceled, open, spent, or never to be settled.

Two facts prove non-payment: a final block past the payment's end whose state has the nonce unused, or a cancellation by
the payer in a final block. Nothing less does: a facilitator that did not answer may have sent the payment.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from eth_abi.abi import decode, encode

from foreseal.payments.chain import BlockHead, BlockTag, ChainNode, Token
from foreseal.payments.contracts.addresses import BATCH_SETTLEMENT, PERMIT2
from foreseal.payments.transfers.authorization_logs import MAX_LOG_RANGE, AuthorizationUse, find_use
from foreseal.payments.x402.payment_key import Payment, PaymentKey
from foreseal.payments.x402.permit2_uses import find_permit2_use

# Selector of Permit2's nonceBitmap(address,uint256).
_NONCE_BITMAP = bytes.fromhex("4fe02b44")


class PaymentFate(StrEnum):
    """Outcome of a payment."""

    OPEN = "open"
    """Its nonce is unused, and it may still be settled."""
    SETTLED = "settled"
    CANCELED = "canceled"
    """Its payer canceled it."""
    SPENT = "spent"
    """Its nonce is used, but not for the transfer to its payee, or the chain does not show for which transfer."""
    UNSETTLED = "unsettled"
    """It was not settled and never will be."""


@dataclass(frozen=True, slots=True)
class PaymentStatus:
    """Status of a payment."""

    fate: PaymentFate
    final: bool
    """True if no reorganization can change the outcome."""
    transaction: str | None = None
    amount: int | None = None
    """Transferred amount in smallest units."""
    final_block: BlockHead | None = None
    """Newest final block at the time of the check."""

    @property
    def never(self) -> bool:
        """True if it is proven that the payment was not settled and never will be."""
        return self.final and self.fate in (PaymentFate.CANCELED, PaymentFate.UNSETTLED)

    def as_json(self) -> dict[str, object]:
        """Return the JSON form that sellers and facilitators serve; amounts are text."""
        block = self.final_block
        return {
            "status": self.fate.value,
            "final": self.final,
            "neverSettled": self.never,
            "transaction": self.transaction,
            "amount": None if self.amount is None else str(self.amount),
            "finalBlock": None
            if block is None
            else {"number": block.number, "hash": block.hash, "time": block.timestamp},
        }


def used(node: ChainNode, key: PaymentKey, block: BlockTag) -> bool:
    """Return True if a payment's nonce is used or canceled as of a block. Raises the node's errors."""
    if key.contract == PERMIT2:
        index = int.from_bytes(key.nonce, "big")
        data = _NONCE_BITMAP + encode(["address", "uint256"], [key.payer, index >> 8])
        return bool(decode(["uint256"], node.call(PERMIT2, data, block))[0] >> (index & 0xFF) & 1)
    return Token(node, key.contract).authorization_used(key.payer, key.nonce, block)


def spent_by(node: ChainNode, payment: Payment) -> AuthorizationUse | None:
    """Return the use or cancellation of a payment's nonce, within the newest 1,999 blocks. Raises the node's errors.

    None for a nonce of Permit2 whose use was not the transfer to the payee in a direct call of a proxy.
    """
    key = payment.key
    if key.contract == PERMIT2 and not used(node, key, "pending"):
        return None
    latest = node.head("latest")
    since = 0 if latest is None else max(0, latest.number - MAX_LOG_RANGE + 1)
    if key.contract == PERMIT2:
        return find_permit2_use(node, payment, since)
    return find_use(node, key.contract, key.payer, key.nonce, since)


def find_status(node: ChainNode, payment: Payment) -> PaymentStatus:
    """Return the chain's status of a payment. Raises the node's errors.

    Without a payee, any transfer under an EIP-3009 nonce settles it. Payments out of channels have no nonce on the
    chain, so they are always open here.
    """
    key, deadline = payment.key, payment.deadline
    if key.contract == BATCH_SETTLEMENT:
        return PaymentStatus(PaymentFate.OPEN, final=False)
    final = node.head("finalized")
    now = used(node, key, "pending")
    if not now:
        # The final block was chosen before this check. A nonce that is unused there past the payment's end stays
        # unused.
        is_expired = final is not None and deadline is not None and final.timestamp > deadline
        if is_expired and final is not None and not used(node, key, final.number):
            return PaymentStatus(PaymentFate.UNSETTLED, final=True, final_block=final)
        return PaymentStatus(PaymentFate.OPEN, final=False, final_block=final)
    status = PaymentStatus(
        PaymentFate.SPENT, final=final is not None and used(node, key, final.number), final_block=final
    )
    use = spent_by(node, payment)
    if use is None:
        return status
    status = replace(status, transaction=use.transaction_hash)
    if use.is_canceled:
        return replace(status, fate=PaymentFate.CANCELED)
    # The payer may have signed a transfer to another account with the same nonce.
    if use.recipient is None or use.recipient != (payment.payee or use.recipient):
        return status
    return replace(status, fate=PaymentFate.SETTLED, amount=use.amount)
