"""Signatures of the token's messages, hashed by eth-account from their definitions in the EIPs."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from eth_account import Account
from eth_account.messages import SignableMessage, encode_typed_data
from eth_utils.crypto import keccak

_DOMAIN = [
    {"name": "name", "type": "string"},
    {"name": "version", "type": "string"},
    {"name": "chainId", "type": "uint256"},
    {"name": "verifyingContract", "type": "address"},
]
_TRANSFER = "address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce"
_FIELDS = {
    "TransferWithAuthorization": _TRANSFER,
    "ReceiveWithAuthorization": _TRANSFER,
    "CancelAuthorization": "address authorizer,bytes32 nonce",
    "Permit": "address owner,address spender,uint256 value,uint256 nonce,uint256 deadline",
}


def digest_of(message: SignableMessage) -> bytes:
    """Return the digest that signs a message."""
    return keccak(b"\x19" + message.version + message.header + message.body)


def separator(domain: dict[str, Any]) -> bytes:
    """Return the hash of a signing domain."""
    return _typed(domain, {"Any": "uint256 field"}, "Any", {"field": 0}).header


def typed_digest(domain: dict[str, Any], types: dict[str, str], primary: str, message: dict[str, Any]) -> bytes:
    """Return the digest of any typed data; each type lists its fields in Solidity's notation."""
    return digest_of(_typed(domain, types, primary, message))


def _typed(domain: dict[str, Any], types: dict[str, str], primary: str, message: dict[str, Any]) -> SignableMessage:
    kinds = {"name": "string", "version": "string", "chainId": "uint256", "verifyingContract": "address"}
    listed = {"EIP712Domain": [{"name": name, "type": kinds[name]} for name in domain]}
    for name, fields in types.items():
        pairs = [field.split() for field in fields.split(",")]
        listed[name] = [{"name": field, "type": kind} for kind, field in pairs]
    full = {"types": listed, "primaryType": primary, "domain": domain, "message": message}
    return encode_typed_data(full_message=full)


class Signature(NamedTuple):
    """A signature in parts."""

    v: int
    r: bytes
    s: bytes

    @property
    def packed(self) -> bytes:
        """r, s and v in 65 bytes."""
        return self.r + self.s + bytes([self.v])


@dataclass(frozen=True)
class Domain:
    """A signing domain (EIP-712)."""

    name: str
    version: str
    chain_id: int
    token: str

    def message(self, kind: str, **values: Any) -> SignableMessage:
        """Return a message of one of the kinds of EIP-3009 and EIP-2612."""
        pairs = [field.split() for field in _FIELDS[kind].split(",")]
        fields = [{"name": name, "type": type_} for type_, name in pairs]
        return encode_typed_data(
            full_message={
                "types": {"EIP712Domain": _DOMAIN, kind: fields},
                "primaryType": kind,
                "domain": {
                    "name": self.name,
                    "version": self.version,
                    "chainId": self.chain_id,
                    "verifyingContract": self.token,
                },
                "message": {name: values[name] for _, name in pairs},
            }
        )

    def digest(self, kind: str, **values: Any) -> bytes:
        """Return the digest that signs a message."""
        return digest_of(self.message(kind, **values))

    def sign(self, key: str, kind: str, **values: Any) -> Signature:
        """Sign a message with a key in hexadecimal."""
        return sign_digest(key, self.digest(kind, **values))


def sign_digest(key: str, digest: bytes) -> Signature:
    """Sign 32 bytes with a key in hexadecimal."""
    signed = Account.from_key(key).unsafe_sign_hash(digest)
    return Signature(signed.v, signed.r.to_bytes(32, "big"), signed.s.to_bytes(32, "big"))


@dataclass(frozen=True)
class Authorization:
    """The terms of EIP-3009 that a payer signs."""

    payer: str
    payee: str
    value: int
    valid_after: int
    valid_before: int
    nonce: bytes

    @property
    def terms(self) -> tuple[str, str, int, int, int, bytes]:
        """Arguments of the token's functions, without the signature."""
        return (self.payer, self.payee, self.value, self.valid_after, self.valid_before, self.nonce)

    def signed(self, domain: Domain, key: str, kind: str) -> Signature:
        """Return the signature as `TransferWithAuthorization` or `ReceiveWithAuthorization`."""
        names = ("from", "to", "value", "validAfter", "validBefore", "nonce")
        return domain.sign(key, kind, **dict(zip(names, self.terms, strict=True)))

    def but(self, **changes: Any) -> "Authorization":
        """Return a copy with other terms."""
        return replace(self, **changes)
