"""Blobs: the largest submissions, with valid and with invalid proofs."""

import hashlib
from typing import Any

from eth_hash.auto import keccak

from hostile.chain_data.generator import FAIR
from hostile.chain_data.registry import add
from hostile.signing import CHAIN_ID, GWEI, Account, Fees, Transaction, rlp

BLOBS = 6
"""Blobs of a transaction."""
_BLOB_SIZE, _CELLS = 1 << 17, 128
INFINITY = b"\xc0" + bytes(47)
"""Commitment to a blob of zeros, and the proof of each of its cells."""
GENERATOR = bytes.fromhex(
    "97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"
)
"""A point of the curve that is no proof of a blob of zeros."""
_GAS = 21_000


def versioned_hash(commitment: bytes) -> bytes:
    """Return the versioned hash of a commitment (EIP-4844)."""
    return b"\x01" + hashlib.sha256(commitment).digest()[1:]


def sign_blobs(account: Account, nonce: int, fees: Fees = FAIR, *, proof: bytes = INFINITY) -> Transaction:
    """Return a transaction of six blobs of zeros; `proof` is that of the last cell (EIP-7594)."""
    target = b"\0" * 20
    fields: list[Any] = [CHAIN_ID, nonce, fees.tip, fees.max_fee, _GAS, target, 0, b"", [], 100 * GWEI]
    fields.append([versioned_hash(INFINITY)] * BLOBS)
    signed = account.sign_typed(3, fields)
    # The signed form is a list of these fields; the sidecar surrounds it.
    payload = bytes.fromhex(signed.raw[4:])
    proofs = [INFINITY] * (BLOBS * _CELLS - 1) + [proof]
    sidecar = rlp(1) + rlp([bytes(_BLOB_SIZE)] * BLOBS) + rlp([INFINITY] * BLOBS) + rlp(proofs)
    whole = rlp_list(payload + sidecar)
    return Transaction("0x03" + whole.hex(), "0x" + keccak(bytes.fromhex(signed.raw[2:])).hex())


def rlp_list(payload: bytes) -> bytes:
    """Return the encoding of a list whose items are encoded already."""
    size = len(payload)
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([0xC0 + size]) + payload if size < 56 else bytes([0xF7 + len(length)]) + length + payload


add("blobs", "blobs", "6 blobs with valid proofs: the longest submission", gas=_GAS, signed=sign_blobs,
    most_in_block=3)  # fmt: skip
