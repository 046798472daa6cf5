"""What became of a payment, by the chain alone: settled, canceled, open, or never to be settled any more.

The proof of non-payment is a final block past the payment's end in whose state the nonce is unused, or a final block in
which the payer canceled it. Nothing less is one: a facilitator that did not answer may have sent the payment.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from eth_abi.abi import decode, encode

from foreseal.payments.chain import Block, Head, Node, Receipt, Token
from foreseal.payments.chain.token import canceled, transfers
from foreseal.payments.contracts.addresses import BATCH_SETTLEMENT, PERMIT2
from foreseal.payments.evidence import WIDEST, consumption
from foreseal.payments.x402.identities import PaymentKey

# nonceBitmap(address,uint256) of Permit2.
_NONCE_BITMAP = bytes.fromhex("4fe02b44")


class Fate(StrEnum):
    """What a payment has come to."""

    OPEN = "open"
    """Its nonce is unused, and it may still be settled."""
    SETTLED = "settled"
    CANCELED = "canceled"
    """By its payer."""
    SPENT = "spent"
    """Its nonce is used; whether by a transfer, the chain does not say (Permit2 has no log of it)."""
    UNSETTLED = "unsettled"
    """It was not settled, and it never will be."""


@dataclass(frozen=True, slots=True)
class Status:
    """What is known of a payment."""

    fate: Fate
    final: bool
    """No reorganisation changes it any more."""
    transaction: str | None = None
    amount: int | None = None
    """Smallest units that moved."""
    final_block: Head | None = None
    """The newest final block when that was looked at."""

    @property
    def never(self) -> bool:
        """Whether it is proven that the payment was not settled and never will be."""
        return self.final and self.fate in (Fate.CANCELED, Fate.UNSETTLED)

    def as_json(self) -> dict[str, Any]:
        """As sellers and facilitators tell it: amounts as text."""
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


def used(node: Node, key: PaymentKey, block: Block) -> bool:
    """Whether a payment's nonce is used or canceled as of a block. Raises what the node raises."""
    if key.contract == PERMIT2:
        place = int.from_bytes(key.nonce, "big")
        data = _NONCE_BITMAP + encode(["address", "uint256"], [key.payer, place >> 8])
        return bool(decode(["uint256"], node.call(PERMIT2, data, block))[0] >> (place & 0xFF) & 1)
    return Token(node, key.contract).authorization_used(key.payer, key.nonce, block)


def spent_by(node: Node, key: PaymentKey) -> Receipt | None:
    """Receipt of the transaction that used or canceled an EIP-3009 nonce, among the newest 1,999 blocks."""
    latest = node.head("latest")
    since = 0 if latest is None else max(0, latest.number - WIDEST + 1)
    return consumption(node, key.contract, key.payer, key.nonce, since)


def look(node: Node, key: PaymentKey, deadline: int | None) -> Status:
    """What the chain says of a payment that ends at `deadline`. Raises what the node raises.

    Payments out of channels have no nonce that the chain knows: they are open as far as it goes.
    """
    if key.contract == BATCH_SETTLEMENT:
        return Status(Fate.OPEN, final=False)
    final = node.head("finalized")
    now = used(node, key, "pending")
    if not now:
        # Asked after the block was chosen: what is unused there and past its end stays unused.
        past = final is not None and deadline is not None and final.timestamp > deadline
        if past and final is not None and not used(node, key, final.number):
            return Status(Fate.UNSETTLED, final=True, final_block=final)
        return Status(Fate.OPEN, final=False, final_block=final)
    found = Status(Fate.SPENT, final=final is not None and used(node, key, final.number), final_block=final)
    if key.contract == PERMIT2:
        return found
    receipt = spent_by(node, key)
    if receipt is None:
        return found
    if canceled(receipt, key.contract, key.payer, key.nonce):
        return replace(found, fate=Fate.CANCELED, transaction=receipt.transaction_hash)
    moved = next((each for each in transfers(receipt, key.contract) if each.nonce == key.nonce), None)
    if moved is None:
        return found
    return replace(found, fate=Fate.SETTLED, transaction=receipt.transaction_hash, amount=moved.amount)
