"""Points of bn254 and BLS12-381 as precompiled contracts read them: multiples of the generators."""

from functools import cache
from typing import Any

from py_ecc import optimized_bls12_381 as bls
from py_ecc import optimized_bn128 as bn

_BN_SIZE, _BLS_SIZE = 32, 64


@cache
def _multiple(curve: Any, generator: str, factor: int) -> Any:
    """Return a multiple of a generator of a curve; each is one addition away from the one before."""
    base = getattr(curve, generator)
    return base if factor == 1 else curve.add(_multiple(curve, generator, factor - 1), base)


def _coordinates(curve: Any, generator: str, factor: int) -> tuple[Any, Any]:
    x, y = curve.normalize(_multiple(curve, generator, factor))
    return x, y


def bn_g1(factor: int) -> bytes:
    """Return a multiple of the generator of G1 of bn254."""
    return b"".join(int(each.n).to_bytes(_BN_SIZE) for each in _coordinates(bn, "G1", factor))


def bn_pair(factor: int) -> bytes:
    """Return a pair of bn254 (EIP-197): the imaginary part of a coordinate comes first."""
    points = _coordinates(bn, "G2", factor)
    second = b"".join(int(part).to_bytes(_BN_SIZE) for each in points for part in reversed(each.coeffs))
    return bn_g1(factor + 1) + second


def bls_g1(factor: int) -> bytes:
    """Return a multiple of the generator of G1 of BLS12-381."""
    return b"".join(int(each.n).to_bytes(_BLS_SIZE) for each in _coordinates(bls, "G1", factor))


def bls_g2(factor: int) -> bytes:
    """Return a multiple of the generator of G2 of BLS12-381 (EIP-2537): the real part of a coordinate comes first."""
    points = _coordinates(bls, "G2", factor)
    return b"".join(int(part).to_bytes(_BLS_SIZE) for each in points for part in each.coeffs)


def bls_pair(factor: int) -> bytes:
    """Return a pair of BLS12-381."""
    return bls_g1(factor + 1) + bls_g2(factor)
