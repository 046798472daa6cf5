"""Payers of orders: named in the terms, or assigned by the first accepted signature.

```text
draft                 payer of the terms                    Drafted
draft_unassigned      no payer; any account may sign        Drafted, `payer` is null
sign, accept          no payer yet: the signer              its payer from then on; never replaced
```
"""

from dataclasses import dataclass
from typing import Protocol

from foreseal.payments.merchant import Merchant
from foreseal.payments.typed_data import ZERO_ADDRESS


class PayerRequired(ValueError):
    """The order has no payer yet, and the call names none."""

    def __init__(self, id: str) -> None:
        super().__init__(f"payer: required, since order {id} has no payer yet")


class PayerMismatch(Exception):
    """The order has another payer."""

    def __init__(self, id: str, given: str, payer: str) -> None:
        super().__init__(f"payer: {given} is not {payer}, the payer of order {id}")


@dataclass(frozen=True, slots=True)
class UnassignedTerms:
    """Terms of an exact amount that any account may sign. The signer becomes the payer."""

    amount: int
    """Amount in smallest units."""
    valid_after: int
    """Unix time in seconds, exclusive."""
    valid_before: int
    """Unix time in seconds, exclusive."""
    nonce: bytes
    """32 random bytes (`typed_data.random_nonce`)."""


@dataclass(frozen=True, slots=True)
class UnassignedPermitTerms:
    """Terms of a maximum that any account may permit. The signer becomes the payer."""

    maximum: int
    """Amount in smallest units."""
    deadline: int
    """Unix time in seconds, inclusive, for both the permit and the capture."""
    name: bytes
    """Order id at the checkout: 32 random bytes (`typed_data.random_nonce`)."""


@dataclass(frozen=True, slots=True)
class Signer:
    """Account that signs an order."""

    payer: str
    permit_nonce: int | None
    """Nonce of its permit (EIP-2612), for an order with a maximum."""


class PayableOrder(Protocol):
    """An order, as far as its payer is concerned."""

    @property
    def id(self) -> str: ...
    @property
    def payer(self) -> str | None: ...


def assigned_payer(order: PayableOrder) -> str:
    """Return the payer of an order. Raises `PayerRequired` if it has none yet."""
    if order.payer is None:
        raise PayerRequired(order.id)
    return order.payer


def require_payer(order: PayableOrder, payer: str | None) -> None:
    """Raise `PayerMismatch` if the order has another payer than the given one."""
    if order.payer is not None and payer not in (None, order.payer):
        raise PayerMismatch(order.id, str(payer), order.payer)


def require_buyer(payer: str, merchant: Merchant) -> None:
    """Raise ValueError if the payer cannot sign an order of this merchant, or would pay itself."""
    if payer == ZERO_ADDRESS:
        raise ValueError("payer: must not be the zero address")
    if payer in merchant.receivers:
        raise ValueError("payer: must not be the payee")


def require_wallet(payer: str, merchant: Merchant) -> None:
    """Raise ValueError like `require_buyer`, and for contracts that sign nothing: the token and the checkout."""
    require_buyer(payer, merchant)
    if payer in (merchant.domain.contract, merchant.checkout):
        raise ValueError("payer: must not be a contract of the merchant")
