"""Accounts and signed transactions, made without the package under test."""

from dataclasses import dataclass
from typing import Any

from coincurve import PrivateKey
from eth_hash.auto import keccak

CHAIN_ID = 4711
GWEI = 10**9
TRANSFER_GAS = 21_000
_SECP256K1_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


@dataclass(frozen=True, slots=True)
class Transaction:
    """A signed transaction."""

    raw: str
    """Raw transaction as 0x hex."""
    hash: str


@dataclass(frozen=True, slots=True)
class Fees:
    """Fees of an EIP-1559 transaction, in wei per gas."""

    max_fee: int = 10 * GWEI
    tip: int = GWEI


DEFAULT_FEES = Fees()


class Account:
    """An account whose key derives from its name."""

    def __init__(self, name: str) -> None:
        self._key = PrivateKey(keccak(name.encode()))
        self.raw_address = keccak(self._key.public_key.format(compressed=False)[1:])[12:]
        self.address = "0x" + self.raw_address.hex()

    def sign(
        self,
        nonce: int,
        *,
        to: bytes | None = None,
        gas: int = TRANSFER_GAS,
        data: bytes = b"",
        fees: Fees = DEFAULT_FEES,
    ) -> Transaction:
        """Sign a transaction of type 2 without value, by default to the account itself."""
        target = self.raw_address if to is None else to
        fields: list[Any] = [CHAIN_ID, nonce, fees.tip, fees.max_fee, gas, target, 0, data, []]
        return self.sign_typed(2, fields)

    def sign_typed(self, kind: int, fields: list[Any]) -> Transaction:
        """Sign an EIP-2718 transaction whose signature follows its fields."""
        y_parity, r, s = self._signature(keccak(bytes([kind]) + rlp(fields)))
        raw = bytes([kind]) + rlp([*fields, y_parity, r, s])
        return Transaction("0x" + raw.hex(), "0x" + keccak(raw).hex())

    def _signature(self, digest: bytes) -> tuple[int, int, int]:
        signature = self._key.sign_recoverable(digest, hasher=None)
        r, s, parity = int.from_bytes(signature[:32]), int.from_bytes(signature[32:64]), signature[64]
        if s > _SECP256K1_ORDER // 2:
            s, parity = _SECP256K1_ORDER - s, parity ^ 1
        return parity, r, s


def rlp(item: Any) -> bytes:
    """Encode a list, an integer or bytes; packages with an RLP encoder take seconds to import."""
    if isinstance(item, list):
        payload, short = b"".join(rlp(each) for each in item), 0xC0
    else:
        payload, short = item.to_bytes((item.bit_length() + 7) // 8) if isinstance(item, int) else item, 0x80
        if len(payload) == 1 and payload[0] < 0x80:
            return payload
    size = len(payload)
    if size < 56:
        return bytes([short + size]) + payload
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([short + 55 + len(length)]) + length + payload


def accounts(role: str, count: int) -> list[Account]:
    """Return the accounts of a role, the same in every process."""
    return [Account(f"{role}-{number}") for number in range(count)]
