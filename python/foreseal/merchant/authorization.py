"""The message that a buyer signs to pay, without packages of Ethereum.

A shop that knows payee, token and chain builds the message itself, so a payment needs one request:

    authorization = PaymentAuthorization(token, payer=..., payee=..., amount=12_340_000, valid_before=...)
    signature = wallet.sign(authorization.typed_data())      # eth_signTypedData_v4
    client.create_payment(**authorization.payment(signature), capture=True)
"""

import re
import secrets
from dataclasses import dataclass, field
from typing import Any, TypedDict

from foreseal.merchant.types import TypedData

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_NONCE = re.compile(r"0x[0-9a-fA-F]{64}")
_SIGNATURE = re.compile(r"0x(?:[0-9a-fA-F]{2})+")
_LIMIT = 1 << 256
_DOMAIN = {"name": "string", "version": "string", "chainId": "uint256", "verifyingContract": "address"}
_FIELDS = {
    "from": "address",
    "to": "address",
    "value": "uint256",
    "validAfter": "uint256",
    "validBefore": "uint256",
    "nonce": "bytes32",
}


class SignedPayment(TypedDict):
    """Required fields of a payment."""

    payer: str
    amount: str
    valid_after: int
    valid_before: int
    nonce: str
    signature: str


@dataclass(frozen=True, slots=True)
class TokenDomain:
    """The token contract in whose domain a buyer signs (EIP-712)."""

    address: str
    chain_id: int
    name: str
    version: str = "2"

    def __post_init__(self) -> None:
        _check(_ADDRESS, self.address, "address")
        _check_integer(self.chain_id, "chain_id")


@dataclass(frozen=True, slots=True)
class PaymentAuthorization:
    """Authorization of `payee` to receive `amount` smallest units from `payer` (EIP-3009, EIP-712)."""

    token: TokenDomain
    payer: str
    payee: str
    amount: int
    valid_before: int
    """Unix time in seconds, exclusive."""
    valid_after: int = 0
    """Unix time in seconds, exclusive."""
    nonce: str = field(default_factory=lambda: f"0x{secrets.token_hex(32)}")
    """32 unpredictable random bytes."""

    def __post_init__(self) -> None:
        _check(_ADDRESS, self.payer, "payer")
        _check(_ADDRESS, self.payee, "payee")
        _check(_NONCE, self.nonce, "nonce")
        for name in ("amount", "valid_before", "valid_after"):
            _check_integer(getattr(self, name), name)

    def typed_data(self) -> TypedData:
        """Return the argument of eth_signTypedData_v4: `ReceiveWithAuthorization`, with integers as text."""
        return {
            "types": {"EIP712Domain": _types(_DOMAIN), "ReceiveWithAuthorization": _types(_FIELDS)},
            "primaryType": "ReceiveWithAuthorization",
            "domain": {
                "name": self.token.name,
                "version": self.token.version,
                "chainId": self.token.chain_id,
                "verifyingContract": self.token.address,
            },
            "message": {
                "from": self.payer,
                "to": self.payee,
                "value": str(self.amount),
                "validAfter": str(self.valid_after),
                "validBefore": str(self.valid_before),
                "nonce": self.nonce,
            },
        }

    def payment(self, signature: str) -> SignedPayment:
        """Return the arguments of `create_payment` for a wallet's signature, 0x hex."""
        _check(_SIGNATURE, signature, "signature")
        return {
            "payer": self.payer,
            "amount": str(self.amount),
            "valid_after": self.valid_after,
            "valid_before": self.valid_before,
            "nonce": self.nonce,
            "signature": signature,
        }


def _types(fields: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "type": kind} for name, kind in fields.items()]


def _check(pattern: re.Pattern[str], value: Any, name: str) -> None:
    if not isinstance(value, str) or pattern.fullmatch(value) is None:
        raise ValueError(f"{name} must be 0x hex of the right length, got {value!r}")


def _check_integer(value: Any, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _LIMIT:
        raise ValueError(f"{name} must be an integer from 0 to 2**256 - 1, got {value!r}")
