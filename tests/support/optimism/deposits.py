"""Deposit transactions (EIP-2718 type 0x7E), encoded as the OP specification defines them."""

from dataclasses import dataclass

import rlp
from eth_utils.crypto import keccak

from optimism.genesis import L1_ATTRIBUTES_CONTRACT, L1_ATTRIBUTES_SENDER
from optimism.l1 import L1Attributes, L1Block

DEPOSIT_TYPE = b"\x7e"
L1_ATTRIBUTES_GAS = 1_000_000
_USER_DEPOSIT, _L1_ATTRIBUTES = 0, 1


@dataclass(frozen=True, slots=True)
class Deposit:
    """A deposit transaction."""

    source_hash: bytes
    sender: bytes
    to: bytes | None
    """`None` creates a contract."""
    mint: int
    """Wei."""
    value: int
    """Wei."""
    gas: int
    data: bytes = b""
    is_system: bool = False

    def encode(self) -> bytes:
        """Return the EIP-2718 bytes."""
        fields = [
            self.source_hash,
            self.sender,
            self.to or b"",
            self.mint,
            self.value,
            self.gas,
            int(self.is_system),
            self.data,
        ]
        return DEPOSIT_TYPE + bytes(rlp.encode(fields))

    @property
    def hash(self) -> str:
        """Transaction hash as 0x hex."""
        return "0x" + keccak(self.encode()).hex()


def source_hash(domain: int, l1_hash: bytes, index: int) -> bytes:
    """Return the source hash of a deposit: `index` is that of a log (domain 0), or the sequence number (domain 1)."""
    return keccak(domain.to_bytes(32) + keccak(l1_hash + index.to_bytes(32)))


def deposit(
    l1_block: L1Block,
    log_index: int,
    sender: bytes,
    to: bytes | None,
    *,
    mint: int = 0,
    value: int = 0,
    gas: int = 100_000,
    data: bytes = b"",
) -> Deposit:
    """Return the deposit of a log of `l1_block`; `mint` and `value` are in wei."""
    return Deposit(source_hash(_USER_DEPOSIT, l1_block.hash, log_index), sender, to, mint, value, gas, data)


def l1_attributes_deposit(attributes: L1Attributes) -> Deposit:
    """Return the deposit with which every block begins."""
    return Deposit(
        source_hash(_L1_ATTRIBUTES, attributes.block.hash, attributes.sequence_number),
        bytes.fromhex(L1_ATTRIBUTES_SENDER[2:]),
        bytes.fromhex(L1_ATTRIBUTES_CONTRACT[2:]),
        mint=0,
        value=0,
        gas=L1_ATTRIBUTES_GAS,
        data=attributes.calldata(),
    )
