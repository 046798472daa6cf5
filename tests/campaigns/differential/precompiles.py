"""Inputs for the precompiled contracts: a valid one for each, and random modifications."""

import functools
from random import Random

from eth_account import Account
from py_ecc.optimized_bls12_381.optimized_curve import G1 as BLS_G1
from py_ecc.optimized_bls12_381.optimized_curve import G2 as BLS_G2
from py_ecc.optimized_bls12_381.optimized_curve import field_modulus, normalize

from differential.blobs import point_evaluation

# The first compression of BLAKE2b of "abc" (EIP-152): the initial state of SHA-512, with the parameters in word 0.
_SHA512_STATE = bytes.fromhex(
    "6a09e667f3bcc908bb67ae8584caa73b3c6ef372fe94f82ba54ff53a5f1d36f1510e527fade682d19b05688c2b3e6c1f1f83d9abfb41bd6b"
    "5be0cd19137e2179"
)
_BLAKE2F = b"".join(
    [
        (12).to_bytes(4, "big"),
        (int.from_bytes(_SHA512_STATE[:8], "big") ^ 0x01010040).to_bytes(8, "little"),
        *(_SHA512_STATE[at : at + 8][::-1] for at in range(8, 64, 8)),
        b"abc".ljust(128, b"\0"),
        (3).to_bytes(16, "little"),
        b"\1",
    ]
)
# A SHA-256 signature of "foreseal" by a test key: hash, r, s, x, y (EIP-7951).
_P256 = bytes.fromhex(
    "461b1701ca0e961516308aa932253c9ffb7e3acc6008c547bd15e5519333d16466356178e6ffb4255d0705e19dac6464b0a960405abf1ade68"
    "42ea58cb3e1e352e31578c6526249d236fe0cb6d13d43119c13c3126e62517b52ef5dfef1123da3a2cd95237b15fc9084ee5f18616a927daa0"
    "d8363eb2d696f83b58e30bb3209b14f202df583fbaab4833064c357762c5a15744d85cb336fa0fe0ad591efe7a44"
)
# The field modulus of alt_bn128.
_BN_PRIME = 21888242871839275222246405745257275088696311157297823662689037894645226208583
# The generator of G2 of alt_bn128, imaginary parts first (EIP-197).
_BN_G2 = (
    11559732032986387107991004021392285783925812861821192530917403151452391805634,
    10857046999023057135944570762232829481370756359578518086990519993285655852781,
    4082367875863433681332203403145435568316851327593401208105741076214120093531,
    8495653923123431417604973247489272438418190587263600148770280649306958101930,
)


def _encode_words(*numbers: int, size: int = 32) -> bytes:
    return b"".join(number.to_bytes(size, "big") for number in numbers)


@functools.cache
def _valid() -> dict[int, bytes]:
    key = Account.from_key(b"\1" * 32)
    signature = key.unsafe_sign_hash(b"\2" * 32)
    one = [int(coordinate) for coordinate in normalize(BLS_G1)]
    two = [int(number) for coordinate in normalize(BLS_G2) for number in coordinate.coeffs]
    g1, g2 = _encode_words(*one, size=64), _encode_words(*two, size=64)
    minus = _encode_words(one[0], field_modulus - one[1], size=64)
    bn_pairs = _encode_words(1, 2, *_BN_G2, 1, _BN_PRIME - 2, *_BN_G2)
    return {
        0x01: b"\2" * 32 + _encode_words(signature.v, signature.r, signature.s),
        0x02: b"foreseal",
        0x03: b"foreseal",
        0x04: b"foreseal",
        0x05: _encode_words(1, 2, 3) + b"\3" + b"\xff\xfe" + b"\x1f\xff\xff",
        0x06: _encode_words(1, 2, 1, 2),
        0x07: _encode_words(1, 2, 77),
        0x08: bn_pairs,
        0x09: _BLAKE2F,
        0x0A: point_evaluation(5, 1234),
        0x0B: g1 + g1,
        0x0C: g1 + _encode_words(3) + g1 + _encode_words(5),
        0x0D: g2 + g2,
        0x0E: g2 + _encode_words(7),
        0x0F: g1 + g2 + minus + g2,
        0x10: _encode_words(1, size=64),
        0x11: _encode_words(1, 2, size=64),
        0x100: _P256,
    }


PRECOMPILES = tuple(f"0x{number:040x}" for number in (*range(1, 0x12), 0x100))
"""Addresses of the precompiled contracts."""


def precompile_input(random: Random, address: str) -> bytes:
    """Return calldata for the precompiled contract at this address: valid, damaged, truncated, too long or random."""
    data = bytearray(_valid()[int(address, 16)])
    kind = random.random()
    if kind < 0.6:
        return bytes(data)
    if kind < 0.75:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    elif kind < 0.85:
        del data[random.randrange(len(data)) :]
    elif kind < 0.95:
        data += random.randbytes(random.randrange(1, 40))
    else:
        data = bytearray(random.randbytes(random.randrange(300)))
    return bytes(data)
