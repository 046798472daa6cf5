"""Rows of precompiled contracts, each with valid inputs: the smallest, typical ones and the slowest for their gas."""

import hashlib
from collections.abc import Iterator

from benches.opcodes.curve_points import bls_g1, bls_g2, bls_pair, bn_g1, bn_pair
from benches.opcodes.rows import Row, with_input

from hostile.chain_data.precompiles import INPUTS, P256VERIFY, blake2f_input, modexp_input

PRECOMPILES = {
    "ECRECOVER": 0x01,
    "SHA256": 0x02,
    "RIPEMD160": 0x03,
    "IDENTITY": 0x04,
    "MODEXP": 0x05,
    "ECADD": 0x06,
    "ECMUL": 0x07,
    "ECPAIRING": 0x08,
    "BLAKE2F": 0x09,
    "KZG": 0x0A,
    "BLS G1ADD": 0x0B,
    "BLS G1MSM": 0x0C,
    "BLS G2ADD": 0x0D,
    "BLS G2MSM": 0x0E,
    "BLS PAIRING": 0x0F,
    "BLS MAP FP": 0x10,
    "BLS MAP FP2": 0x11,
    "P256VERIFY": P256VERIFY,
}
"""Precompiled contracts of Osaka: address by name."""
_MAX = b"\xff" * 32
_BN_ORDER = 0x30644E72E131A029B85045B68181585D2833E84879B97091_43E1F593F0000001
# Second point of the trusted setup of EIP-4844, and the generator of G1: the commitment to p(x) = x, and its
# proof at any point.
_SETUP_G1 = bytes.fromhex(
    "ad3eb50121139aa34db1d545093ac9374ab7bca2c0f3bf28e27c8dcd8fc7cb42d25926fc0c97b336e9f0fb35e5a04c81"
)
_GENERATOR = bytes.fromhex(
    "97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"
)
# Sizes of base, exponent and modulus, first byte of the exponent, and last byte of the modulus. They are those of the
# test vectors of EIP-7883.
_MODEXP = {
    "32 bytes to the 2^16+1": (32, b"\x01\x00\x01", 32, 0xFF),
    "8 bytes to 648 bits": (8, b"\xff" * 81, 8, 0xFF),
    "8 bytes to 648 bits, even": (8, b"\xff" * 81, 8, 0xFE),
    "8 bytes to 896 bits": (8, b"\xff" * 112, 8, 0xFF),
    "16 bytes to 320 bits": (16, b"\xff" * 40, 16, 0xFF),
    "16 bytes to 1,728 bits, even": (16, b"\x2b" + b"\x1f" * 215, 16, 0xFE),
    "12 bytes to 1,544 bits, even": (3, b"\xff" * 193, 12, 0xFE),
    "24 bytes to 168 bits": (24, b"\xff" * 21, 24, 0xFF),
    "32 bytes to 40 bits": (32, b"\xff" * 5, 32, 0xFF),
    "32 bytes to 96 bits": (32, b"\xff" * 12, 32, 0xFF),
    "32 bytes to 256 bits": (32, _MAX, 32, 0xFF),
    "32 bytes to 256 bits, even": (32, _MAX, 32, 0xFE),
    "64 bytes squared": (64, b"\x02", 64, 0xFF),
    "192 bytes cubed": (192, b"\x03", 192, 0xFF),
    "256 bytes to the 2^16+1": (256, b"\x01\x00\x01", 256, 0xFF),
    "264 bytes cubed, even": (264, b"\x03", 264, 0xFE),
    "408 bytes cubed": (408, b"\x03", 408, 0xFF),
    "715 bytes to the fourth, even": (487, b"\x04", 715, 0xFE),
}


def kzg_input() -> bytes:
    """Return a point evaluation of p(x) = x with its proof (EIP-4844)."""
    versioned_hash = b"\x01" + hashlib.sha256(_SETUP_G1).digest()[1:]
    return versioned_hash + (7).to_bytes(32) * 2 + _SETUP_G1 + _GENERATOR


def _modexp_inputs() -> Iterator[tuple[str, bytes]]:
    for name, (base, exponent, modulus, last) in _MODEXP.items():
        sizes = b"".join(size.to_bytes(32) for size in (base, len(exponent), modulus))
        yield name, sizes + b"\xfe" * base + exponent + b"\xff" * (modulus - 1) + bytes([last])
    yield "1 byte", modexp_input(1, b"\x03", b"\xfd")


def _scalars(count: int) -> list[bytes]:
    """Return scalars of 256 bits that differ."""
    return [hashlib.sha256(at.to_bytes(4)).digest() for at in range(count)]


def inputs() -> Iterator[tuple[str, str, bytes]]:
    """Yield contract, description and input of all rows."""
    for size, count in (("32 bytes", 32), ("1 KiB", 1024)):
        for name in ("SHA256", "RIPEMD160", "IDENTITY"):
            yield name, size, b"\xa5" * count
    for size, data in _modexp_inputs():
        yield "MODEXP", size, data
    yield "ECADD", "different points", bn_g1(2) + bn_g1(3)
    yield "ECADD", "infinity", bytes(128)
    yield "ECMUL", "by 2", bn_g1(3) + (2).to_bytes(32)
    yield "ECMUL", "by the order less 1", bn_g1(3) + (_BN_ORDER - 1).to_bytes(32)
    yield "ECPAIRING", "no pair", b""
    yield "ECPAIRING", "2 different pairs", bn_pair(2) + bn_pair(3)
    yield "ECPAIRING", "16 different pairs", b"".join(bn_pair(at) for at in range(1, 17))
    yield "BLAKE2F", "12 rounds", blake2f_input(12)
    yield "BLAKE2F", "1,000 rounds", blake2f_input(1_000)
    yield "KZG", "a valid proof", kzg_input()
    yield "BLS G1ADD", "different points", bls_g1(2) + bls_g1(3)
    yield "BLS G2ADD", "different points", bls_g2(2) + bls_g2(3)
    for pairs in (1, 2, 16, 128):
        factors = _scalars(pairs)
        points = "point" if pairs == 1 else "different points"
        yield "BLS G1MSM", f"{pairs} {points}", b"".join(bls_g1(at + 2) + factors[at] for at in range(pairs))
        yield "BLS G2MSM", f"{pairs} {points}", b"".join(bls_g2(at + 2) + factors[at] for at in range(pairs))
    for pairs in (1, 2, 8):
        data = b"".join(bls_pair(at) for at in range(2, pairs + 2))
        yield "BLS PAIRING", f"{pairs} different pair{'s' if pairs > 1 else ''}", data
    yield "BLS MAP FP", "of 1", (1).to_bytes(64)
    yield "BLS MAP FP2", "of 1", (1).to_bytes(64) * 2


def precompile_rows() -> list[Row]:
    """Return the rows of this module and those of the inputs that attacks use."""
    names = {address: name for name, address in PRECOMPILES.items()}
    rows = [_row(contract, description, data) for contract, description, data in inputs()]
    for key, each in INPUTS.items():
        # One call of BLAKE2F with millions of rounds leaves much of the gas unused.
        if each.is_valid and key != "blake2f-long":
            rows.append(_row(names[each.address], f"hostile {key}", each.data))
    return rows


def _row(contract: str, description: str, data: bytes) -> Row:
    body = f"PUSH0 PUSH0 {len(data)} PUSH0 {PRECOMPILES[contract]} GAS STATICCALL POP"
    is_copy_of_nothing = contract == "IDENTITY" and not data
    return Row(f"{contract} {description}", contract, body, with_input(), data, returns_data=not is_copy_of_nothing)
