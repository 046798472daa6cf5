"""EIP-712 messages that buyers sign (EIP-3009 and EIP-2612).

```text
ReceiveAuthorization    only the payee may submit it      capture by a merchant
TransferAuthorization   any account may submit it         x402 `exact`
Cancellation            ends an authorization             all three share one nonce space per payer
Permit                  an allowance of `value`           checkouts of a variable amount
```

The first two messages differ only in their type; a signature for one reverts with the other. Times are seconds since
1970, amounts the token's smallest units. The core does hashing, signing and recovery.
"""

import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from foreseal.codec import checksum_address, keccak, recover_addresses, sign_digests
from foreseal.payments.abi import encode_values
from foreseal.payments.amounts import check_amount

# Half the order of secp256k1. The token accepts only the form of a signature with the lower s (EIP-2).
_HIGHEST_S = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
ZERO_ADDRESS = "0x" + "00" * 20
_DOMAIN = (("name", "string"), ("version", "string"), ("chainId", "uint256"), ("verifyingContract", "address"))
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")


def address(value: str, name: str) -> str:
    """Return an address with its checksum (EIP-55).

    Raises ValueError with the argument's name, also for a wrong checksum.
    """
    if not isinstance(value, str) or _ADDRESS.fullmatch(value) is None:
        raise ValueError(f"{name}: {value!r} is not an address")
    checksummed = checksum_address(bytes.fromhex(value[2:]))
    if value not in (checksummed, value.lower()):
        raise ValueError(f"{name}: {value} has a wrong checksum: a character was mistyped")
    return checksummed


def bytes32(value: bytes | str, name: str) -> bytes:
    """Return 32 bytes from bytes or 0x hex.

    Raises ValueError with the argument's name, and TypeError for another type.
    """
    if not isinstance(value, bytes | bytearray | str):
        raise TypeError(f"{name}: {value!r} must be 32 bytes, got {type(value).__name__}")
    try:
        decoded = bytes.fromhex(value.removeprefix("0x")) if isinstance(value, str) else bytes(value)
    except ValueError:
        raise ValueError(f"{name}: {value!r} is not hex") from None
    if len(decoded) != 32:
        raise ValueError(f"{name}: must have 32 bytes, got {len(decoded)}")
    return decoded


@dataclass(frozen=True, slots=True)
class Domain:
    """Domain in which a signature is valid (EIP-712): one token contract on one chain."""

    name: str
    version: str
    chain_id: int
    contract: str

    def __post_init__(self) -> None:
        check_amount(self.chain_id, "chain_id")
        object.__setattr__(self, "contract", address(self.contract, "contract"))

    def separator(self) -> bytes:
        """Return the hash of the domain, which every digest in it contains."""
        return _separator(self)


@lru_cache(maxsize=64)
def _separator(domain: Domain) -> bytes:
    hashes = keccak(domain.name.encode()) + keccak(domain.version.encode())
    return keccak(keccak(_type("EIP712Domain", _DOMAIN)) + hashes + encode_values(domain.chain_id, domain.contract))


def check_signature_form(signature: bytes) -> None:
    """Raise ValueError for bytes that the token rejects as a signature of a key: length, v, or the upper s (EIP-2)."""
    if len(signature) != 65:
        raise ValueError(f"signature: must have 65 bytes, got {len(signature)}")
    if signature[64] not in (27, 28):
        raise ValueError(f"signature: v, the last byte, must be 27 or 28, got {signature[64]}")
    if int.from_bytes(signature[32:64], "big") > _HIGHEST_S:
        raise ValueError("signature: s is in the upper half of the curve order, which EIP-2 forbids")


FieldValue = int | str | bytes
"""Value of a field of a message."""


@dataclass(frozen=True, slots=True)
class TypedMessage(ABC):
    """Base class of the messages."""

    TYPE: ClassVar[str]
    FIELDS: ClassVar[tuple[tuple[str, str], ...]]

    @abstractmethod
    def values(self) -> dict[str, FieldValue]:
        """Return the fields of the message by their names in the contract."""

    @classmethod
    def type_hash(cls) -> bytes:
        """Return keccak256 of the type, equal to the contract's typehash."""
        return _type_hash(cls.TYPE, cls.FIELDS)

    def typed_data(self, domain: Domain) -> dict[str, Any]:
        """Return the argument of eth_signTypedData_v4: serializable as JSON, with integers as text."""

        def plain(value: FieldValue) -> str:
            return "0x" + value.hex() if isinstance(value, bytes) else value if isinstance(value, str) else str(value)

        return self._full(domain) | {"message": {name: plain(value) for name, value in self.values().items()}}

    def struct_hash(self) -> bytes:
        """Return the hash of the type and the fields (EIP-712 `hashStruct`)."""
        return keccak(self.type_hash() + encode_values(*self.values().values()))

    def digest(self, domain: Domain) -> bytes:
        """Return the hash that is signed."""
        return keccak(b"\x19\x01" + domain.separator() + self.struct_hash())

    def sign(self, domain: Domain, key: bytes | str) -> bytes:
        """Sign with a key. Return r, s and v, 65 bytes."""
        return sign_digests(bytes32(key, "key"), [self.digest(domain)])[0]

    def signer(self, domain: Domain, signature: bytes) -> str:
        """Return the address of the key that signed. Raises ValueError for a signature that the token would reject.

        A wallet with code has no key; check its signature by ERC-1271.
        """
        check_signature_form(signature)
        recovered = recover_addresses([self.digest(domain)], [signature])[0]
        if recovered is None:
            raise ValueError("signature: no key made it")
        return recovered

    def _full(self, domain: Domain) -> dict[str, object]:
        def fields(pairs: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
            return [{"name": name, "type": kind} for name, kind in pairs]

        return {
            "types": {"EIP712Domain": fields(_DOMAIN), self.TYPE: fields(self.FIELDS)},
            "primaryType": self.TYPE,
            "domain": {
                "name": domain.name,
                "version": domain.version,
                "chainId": domain.chain_id,
                "verifyingContract": domain.contract,
            },
        }


@dataclass(frozen=True, slots=True)
class TransferMessage(TypedMessage):
    """An exact transfer of `value` units from `payer` to `payee`, valid for valid_after < time < valid_before."""

    FIELDS = (
        ("from", "address"),
        ("to", "address"),
        ("value", "uint256"),
        ("validAfter", "uint256"),
        ("validBefore", "uint256"),
        ("nonce", "bytes32"),
    )

    payer: str
    payee: str
    value: int
    valid_after: int
    valid_before: int
    nonce: bytes

    def __post_init__(self) -> None:
        for name in ("payer", "payee"):
            object.__setattr__(self, name, address(getattr(self, name), name))
        for name in ("value", "valid_after", "valid_before"):
            check_amount(getattr(self, name), name)
        object.__setattr__(self, "nonce", bytes32(self.nonce, "nonce"))

    def values(self) -> dict[str, FieldValue]:
        return {
            "from": self.payer,
            "to": self.payee,
            "value": self.value,
            "validAfter": self.valid_after,
            "validBefore": self.valid_before,
            "nonce": self.nonce,
        }


@dataclass(frozen=True, slots=True)
class ReceiveAuthorization(TransferMessage):
    """An authorization that only the payee may submit (EIP-3009 `receiveWithAuthorization`)."""

    TYPE = "ReceiveWithAuthorization"


@dataclass(frozen=True, slots=True)
class TransferAuthorization(TransferMessage):
    """An authorization that any account may submit (EIP-3009 `transferWithAuthorization`)."""

    TYPE = "TransferWithAuthorization"


@dataclass(frozen=True, slots=True)
class Cancellation(TypedMessage):
    """Cancellation of an unused authorization (EIP-3009 `cancelAuthorization`)."""

    TYPE = "CancelAuthorization"
    FIELDS = (("authorizer", "address"), ("nonce", "bytes32"))

    authorizer: str
    nonce: bytes

    def __post_init__(self) -> None:
        object.__setattr__(self, "authorizer", address(self.authorizer, "authorizer"))
        object.__setattr__(self, "nonce", bytes32(self.nonce, "nonce"))

    def values(self) -> dict[str, FieldValue]:
        return {"authorizer": self.authorizer, "nonce": self.nonce}


@dataclass(frozen=True, slots=True)
class Permit(TypedMessage):
    """An allowance of `value` units for `spender` (EIP-2612), valid for time <= deadline."""

    TYPE = "Permit"
    FIELDS = (
        ("owner", "address"),
        ("spender", "address"),
        ("value", "uint256"),
        ("nonce", "uint256"),
        ("deadline", "uint256"),
    )

    owner: str
    spender: str
    value: int
    nonce: int
    deadline: int

    def __post_init__(self) -> None:
        for name in ("owner", "spender"):
            object.__setattr__(self, name, address(getattr(self, name), name))
        for name in ("value", "nonce", "deadline"):
            check_amount(getattr(self, name), name)

    def values(self) -> dict[str, FieldValue]:
        return {
            "owner": self.owner,
            "spender": self.spender,
            "value": self.value,
            "nonce": self.nonce,
            "deadline": self.deadline,
        }


def random_nonce() -> bytes:
    """Return 32 unpredictable random bytes."""
    return secrets.token_bytes(32)


@lru_cache(maxsize=16)
def _type_hash(name: str, fields: tuple[tuple[str, str], ...]) -> bytes:
    return keccak(_type(name, fields))


def _type(name: str, fields: Sequence[tuple[str, str]]) -> bytes:
    """Return the text of a struct type (EIP-712 `encodeType`)."""
    return f"{name}({','.join(f'{kind} {field}' for field, kind in fields)})".encode()
