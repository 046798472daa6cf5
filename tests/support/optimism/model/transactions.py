"""Transactions of an OP chain from their encodings: deposits, and signed ones by eth-account."""

from typing import Any, NamedTuple

import rlp
from eth_account import Account
from eth_hash.auto import keccak

DEPOSIT_TYPE = 0x7E
LEGACY, ACCESS_LIST, DYNAMIC_FEE, SET_CODE = 0, 1, 2, 4


def integer(data: bytes) -> int:
    """Return an integer of RLP."""
    return int.from_bytes(data, "big")


def minimal(value: int) -> bytes:
    """Return the RLP content of an integer."""
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


class DepositTransaction(NamedTuple):
    """Fields of type 0x7E in the order of their encoding. `to` is None for a creation; amounts are in wei."""

    source_hash: bytes
    sender: bytes
    to: bytes | None
    mint: int
    value: int
    gas: int
    data: bytes

    def encode(self) -> bytes:
        """Return the encoding, with the system flag unset."""
        amounts = [minimal(amount) for amount in (self.mint, self.value, self.gas)]
        fields = [self.source_hash, self.sender, self.to or b"", *amounts, b"", self.data]
        return bytes([DEPOSIT_TYPE]) + bytes(rlp.encode(fields))

    def hash(self) -> bytes:
        """Return the transaction hash."""
        return bytes(keccak(self.encode()))

    @classmethod
    def decode(cls, raw: bytes) -> "DepositTransaction":
        """Return the fields of an encoding."""
        assert raw[0] == DEPOSIT_TYPE, raw[:1].hex()
        source, sender, to, mint, value, gas, system, data = rlp.decode(raw[1:])
        assert system == b"", "the system flag is disabled"
        return cls(source, sender, to or None, integer(mint), integer(value), integer(gas), data)


class SignedFields(NamedTuple):
    """Fields of a signed transaction that fees depend on, prices in wei. `tip` of a gas price is the whole price."""

    kind: int
    sender: bytes
    nonce: int
    max_fee: int
    tip: int
    gas: int
    to: bytes | None
    value: int
    data: bytes
    access_list: list[tuple[bytes, list[bytes]]]

    def effective_price(self, base_fee: int) -> int:
        """Return the price in wei that it pays for each unit of gas (EIP-1559)."""
        return min(self.max_fee, base_fee + self.tip)

    @classmethod
    def decode(cls, raw: bytes) -> "SignedFields":
        """Return the fields of an encoding; the sender comes from the signature."""
        sender = bytes.fromhex(Account.recover_transaction(raw)[2:])
        if raw[0] >= 0xC0:
            nonce, price, gas, to, value, data = rlp.decode(raw)[:6]
            return cls._from_rlp(LEGACY, sender, [nonce, price, price, gas, to, value, data, []])
        fields = rlp.decode(raw[1:])
        if raw[0] == ACCESS_LIST:
            _, nonce, price, gas, to, value, data, accesses = fields[:8]
            return cls._from_rlp(ACCESS_LIST, sender, [nonce, price, price, gas, to, value, data, accesses])
        assert raw[0] in (DYNAMIC_FEE, SET_CODE), raw[:1].hex()
        _, nonce, tip, max_fee, gas, to, value, data, accesses = fields[:9]
        return cls._from_rlp(raw[0], sender, [nonce, max_fee, tip, gas, to, value, data, accesses])

    @classmethod
    def _from_rlp(cls, kind: int, sender: bytes, fields: list[Any]) -> "SignedFields":
        nonce, max_fee, tip, gas, to, value, data, accesses = fields
        numbers = (integer(nonce), integer(max_fee), integer(tip), integer(gas))
        return cls(kind, sender, *numbers, to or None, integer(value), data, accesses)


Transaction = DepositTransaction | SignedFields


def decode_transaction(raw: bytes) -> Transaction:
    """Return a deposit or a signed transaction."""
    return DepositTransaction.decode(raw) if raw[0] == DEPOSIT_TYPE else SignedFields.decode(raw)


def user_source_hash(l1_block: bytes, log_index: int) -> bytes:
    """Return the source hash of a deposit by a user: domain 0 (OP specification, "Source hash computation")."""
    return bytes(keccak(bytes(32) + keccak(l1_block + log_index.to_bytes(32, "big"))))


def attributes_source_hash(l1_block: bytes, sequence_number: int) -> bytes:
    """Return the source hash of the L1 attributes deposit: domain 1."""
    return bytes(keccak((1).to_bytes(32, "big") + keccak(l1_block + sequence_number.to_bytes(32, "big"))))
