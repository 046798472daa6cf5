"""Terms of orders, the messages that their payers sign, and the earliest block of a signature."""

from dataclasses import dataclass
from typing import Protocol

from foreseal.codec import keccak
from foreseal.payments.chain import BlockHead, Incomplete, RequestBatch, node_requests
from foreseal.payments.ledger.models import OrderRecord
from foreseal.payments.orders.payers import Signer, assigned_payer
from foreseal.payments.transfers.authorization_logs import MAX_LOG_RANGE
from foreseal.payments.typed_data import ZERO_ADDRESS, Domain, Permit, ReceiveAuthorization


class SignedOrder(Protocol):
    """Terms and signature of an order: a row, or a new order that is not stored yet."""

    @property
    def id(self) -> str: ...
    @property
    def chain_id(self) -> int: ...
    @property
    def token(self) -> str: ...
    @property
    def payer(self) -> str | None: ...
    @property
    def payee(self) -> str: ...
    @property
    def amount(self) -> int: ...
    @property
    def valid_after(self) -> int: ...
    @property
    def valid_before(self) -> int: ...
    @property
    def nonce(self) -> bytes: ...
    @property
    def checkout(self) -> str | None: ...
    @property
    def permit_nonce(self) -> int | None: ...
    @property
    def signature(self) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class OrderTerms:
    """Terms that a buyer signs."""

    payer: str
    amount: int
    """Amount in smallest units."""
    valid_after: int
    """Unix time in seconds, exclusive."""
    valid_before: int
    """Unix time in seconds, exclusive."""
    nonce: bytes
    """32 random bytes (`typed_data.random_nonce`, `typed_data.derive_nonce`)."""


@dataclass(frozen=True, slots=True)
class PermitTerms:
    """Terms that a buyer signs if the amount is decided at the capture."""

    payer: str
    maximum: int
    """Amount in smallest units."""
    deadline: int
    """Unix time in seconds, inclusive, for both the permit and the capture."""
    name: bytes
    """Order id at the checkout, which captures each once: 32 random bytes (`typed_data.random_nonce`).

    The order's id would suffice only for a checkout with one ledger. If several ledgers share it, the capture of
    another ledger's order with the same id would count as this order's.
    """


class EarliestBlock:
    """Block below which no authorization signed now can be included. Available after the batch was executed.

    The latest block is not safe: after a reorganization its number belongs to another block, or a lower block includes
    the transaction.
    """

    def __init__(self, batch: RequestBatch) -> None:
        self._latest, self._final = (batch.add(node_requests.head(tag)) for tag in ("latest", "finalized"))

    def number(self) -> int:
        """Return the number of the block. Raises the node's errors."""
        latest, final = self._newest(), self._final.result()
        return max(0, latest.number - MAX_LOG_RANGE) if final is None else min(final.number, latest.number)

    def timestamp(self) -> int:
        """Return the timestamp of the latest block. Raises the node's errors."""
        return self._newest().timestamp

    def _newest(self) -> BlockHead:
        latest = self._latest.result()
        if latest is None:
            raise Incomplete("the node has no latest block")
        return latest


class Expired(ValueError):
    """The terms end before the pending block."""


def require_open(valid_before: int, now: int) -> None:
    """Raise `Expired` if terms end at or before the timestamp of the pending block."""
    if valid_before <= now:
        raise Expired(f"valid_before: {valid_before} is not after {now}, the timestamp of the pending block")


def message(order: SignedOrder) -> ReceiveAuthorization | Permit:
    """Return the message that the payer of an order signs. Raises `PayerRequired` if it has no payer yet."""
    return message_by(order, Signer(assigned_payer(order), order.permit_nonce))


def message_by(order: SignedOrder, signer: Signer) -> ReceiveAuthorization | Permit:
    """Return the message by which an account accepts the terms of an order."""
    if order.checkout is not None:
        assert signer.permit_nonce is not None, "the signer of a permit has its nonce"
        return Permit(signer.payer, order.checkout, order.amount, signer.permit_nonce, order.valid_before - 1)
    return ReceiveAuthorization(
        signer.payer, order.payee, order.amount, order.valid_after, order.valid_before, order.nonce
    )


def order_typed_data(order: SignedOrder, domain: Domain) -> dict[str, object]:
    """Return the typed data of an order. If it has no payer yet, the message lacks the fields of the payer."""
    if order.payer is not None:
        return message(order).typed_data(domain)
    data = message_by(order, Signer(ZERO_ADDRESS, 0)).typed_data(domain)
    missing = ("from",) if order.checkout is None else ("owner", "nonce")
    return data | {"message": {name: value for name, value in data["message"].items() if name not in missing}}


def permit(order: SignedOrder) -> Permit:
    """Return the permit that the buyer signs, for an order with a permit."""
    typed_message = message(order)
    assert isinstance(typed_message, Permit)
    return typed_message


def authorization(order: SignedOrder) -> ReceiveAuthorization:
    """Return the authorization that the buyer signs, for an order with a fixed amount."""
    typed_message = message(order)
    assert isinstance(typed_message, ReceiveAuthorization)
    return typed_message


def stored_signature(order: OrderRecord) -> bytes:
    """Return the signature of a signed order."""
    assert order.signature is not None, "every state after Drafted has a signature"
    return order.signature


def memo(id: str) -> bytes:
    """Return the memo by which a transfer refers to an order: keccak256 of the order's id."""
    return keccak(id.encode())
