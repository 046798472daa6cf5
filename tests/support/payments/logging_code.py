"""Transactions of strangers with a call of the token and as many logs as their gas buys."""

import rlp
from eth_utils.crypto import keccak

from foreseal.payments.contracts.development import TOKEN

GAS = 2**24 - 1
"""Largest gas limit of a transaction (EIP-7825)."""
LOGS = 40_000
"""Logs that it buys, at least."""


def logging_code(call: bytes) -> bytes:
    """Return creation code that makes a call of the token, and then empty logs until the gas is used up."""
    store = b"".join(
        b"\x7f" + call[offset : offset + 32].ljust(32, b"\0") + b"\x60" + bytes([offset]) + b"\x52"
        for offset in range(0, len(call), 32)
    )
    size = bytes([len(call)])
    made = store + b"\x5f\x5f\x60" + size + b"\x5f\x5f\x73" + bytes.fromhex(TOKEN[2:]) + b"\x5a\xf1\x50"
    # While more than 65,535 gas are left: LOG0.
    return made + b"\x5b\x5f\x5f\xa0\x61\xff\xff\x5a\x11\x61" + len(made).to_bytes(2, "big") + b"\x57\x00"


def created_address(sender: str, nonce: int) -> str:
    """Return the address of the contract that a transaction creates."""
    return "0x" + keccak(rlp.encode([bytes.fromhex(sender[2:]), nonce]))[12:].hex()
