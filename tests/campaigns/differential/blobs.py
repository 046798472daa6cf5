"""Blob transactions with free proofs: every field element of a blob is the same number c.

The polynomial is then the constant c: its commitment is c times the generator, and all proofs are the point at
infinity.
"""

import functools
import hashlib
from typing import Any

import rlp
from eth_account.signers.local import LocalAccount
from py_ecc.bls.g2_primitives import G1_to_pubkey
from py_ecc.optimized_bls12_381.optimized_curve import G1, multiply

_ELEMENTS = 4096
_CELLS = 128
_INFINITY = b"\xc0" + bytes(47)


@functools.cache
def commitment(c: int) -> bytes:
    """Return the KZG commitment to the blob of c (EIP-4844), 48 bytes."""
    return bytes(G1_to_pubkey(multiply(G1, c))) if c else _INFINITY


def versioned_hash(c: int) -> bytes:
    """Return the versioned hash of the blob of c (EIP-4844), 32 bytes."""
    return b"\x01" + hashlib.sha256(commitment(c)).digest()[1:]


def point_evaluation(c: int, z: int) -> bytes:
    """Return valid input of EIP-4844's precompiled contract: the polynomial of the blob of c is c at z."""
    return b"".join([versioned_hash(c), z.to_bytes(32, "big"), c.to_bytes(32, "big"), commitment(c), _INFINITY])


def sign_blobs(account: LocalAccount, fields: dict[str, Any], numbers: list[int]) -> bytes:
    """Return a signed transaction with the blobs of these numbers, in its pooled form (EIP-7594)."""
    hashes = [versioned_hash(c) for c in numbers]
    signed = account.sign_transaction(fields | {"type": 3, "blobVersionedHashes": hashes})
    body = rlp.decode(bytes(signed.raw_transaction)[1:])
    blobs = [c.to_bytes(32, "big") * _ELEMENTS for c in numbers]
    proofs = [_INFINITY] * (_CELLS * len(numbers))
    return b"\x03" + bytes(rlp.encode([body, b"\x01", blobs, [commitment(c) for c in numbers], proofs]))
