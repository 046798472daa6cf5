"""Precompiled contracts: loops over the calls that take the most time for their gas."""

from dataclasses import dataclass

from coincurve import PrivateKey
from eth_hash.auto import keccak

from hostile.bytecode import pairing_input
from hostile.chain_data.assembler import call, gas_loop, push, store
from hostile.chain_data.blobs import GENERATOR, versioned_hash
from hostile.chain_data.registry import add

P256VERIFY = 0x100
_MAX = b"\xff" * 32
_BN_GENERATOR = (1).to_bytes(32) + (2).to_bytes(32)
_BLS_G1 = (
    0x17F1D3A73197D7942695638C4FA9AC0FC3688C4F9774B905A14E3A3F171BAC586C55E83FF97A1AEFFB3AF00ADB22C6BB,
    0x08B3F481E3AAA0F1A09E30ED741D8AE4FCF5E095D5D00AF600DB18CB2C04B3EDD03CC744A2888AE40CAA232946C5E7E1,
)
_BLS_G2 = (
    0x024AA2B2F08F0A91260805272DC51051C6E47AD4FA403B02B4510B647AE3D1770BAC0326A805BBEFD48056C8C121BDB8,
    0x13E02B6052719F607DACD3A088274F65596BD0D09920B61AB5DA61BBDC7F5049334CF11213945D57E5AC7D055D042B7E,
    0x0CE5D527727D6E118CC9CDC6DA2E351AADFD9BAA8CBDD3A76D429A695160D12C923AC9CC3BACA289E193548608B82801,
    0x0606C4A02EA734CC32ACD2B02BC28B99CB3E287E85A763AF267492AB572E99AB3F370D275CEC1DA1AAA9075FF05F79BE,
)
_P256 = bytes.fromhex(
    # RFC 6979, A.2.5: SHA-256 of "sample", r, s and the public key.
    "af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf"
    "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
    "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
    "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
    "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299"
)
_CURVE_MODULUS = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB


@dataclass(frozen=True, slots=True)
class Input:
    """Address and input of the calls of a loop."""

    address: int
    data: bytes
    is_valid: bool = True


INPUTS: dict[str, Input] = {}
"""The inputs by the name of the generator."""


def _words(*numbers: int, size: int = 64) -> bytes:
    return b"".join(number.to_bytes(size) for number in numbers)


def modexp_input(size: int, exponent: bytes, modulus: bytes) -> bytes:
    """Return the input of a modular exponentiation whose base and modulus have this size (EIP-198)."""
    return _words(size, len(exponent), size, size=32) + b"\xfe" * size + exponent + modulus.rjust(size, b"\xff")


def blake2f_input(rounds: int) -> bytes:
    """Return the input of the BLAKE2b compression with this many rounds (EIP-152)."""
    return rounds.to_bytes(4) + bytes(range(208)) + b"\x01"


def _ecrecover() -> bytes:
    digest = keccak(b"chain data")
    signature = PrivateKey(keccak(b"chain data signer")).sign_recoverable(digest, hasher=None)
    return digest + (27 + signature[64]).to_bytes(32) + signature[:64]


def _loop(name: str, description: str, address: int, data: bytes, gas: int, *, exact: bool = False) -> None:
    """Register a loop of calls; `exact` passes no more than their gas, because they fail and use what they get."""
    INPUTS[name] = Input(address, data, is_valid=not exact)
    opening = store(data) or b""
    body = call(address, len(data), gas=push(gas) if exact else b"\x5a")
    code = gas_loop(body, opening, reserve=max(gas * 2 + 10_000, 0xFFFF), unroll=8 if gas < 3_000 else 1)
    add("precompiles", name, description, code, least_gas=0.6)


def _once(name: str, description: str, address: int, data: bytes) -> None:
    """Register a single call."""
    INPUTS[name] = Input(address, data)
    add("precompiles", name, description, store(data) + call(address, len(data)) + b"\x00")


_loop("p256verify", "P256VERIFY of a valid signature: finding N4", P256VERIFY, _P256, 6_900)
_loop("ecrecover", "recovery of a valid signature", 1, _ecrecover(), 3_000)
_loop("sha256", "SHA-256 of 8 KiB", 2, b"\xff" * 8192, 3_132)
_loop("sha256-empty", "SHA-256 of nothing", 2, b"", 60)
_loop("ripemd160", "RIPEMD-160 of 8 KiB", 3, b"\xff" * 8192, 31_320)
_loop("ripemd160-empty", "RIPEMD-160 of nothing", 3, b"", 600)
_loop("identity", "copies of nothing: the cheapest call of a precompiled contract", 4, b"", 15)
_loop("identity-long", "copies of 16 KiB", 4, b"\xff" * 16384, 1_551)
_loop("modexp-least", "exponentiations of 32 bytes at the least price", 5, modexp_input(32, b"\x03", _MAX), 500)
_loop("modexp-long", "exponentiations of 256 bytes by 32 bytes", 5, modexp_input(256, _MAX, b""), 600_000)
_loop("modexp-even", "exponentiations of 1,024 bytes to the third power by an even modulus", 5,
      modexp_input(1024, b"\x03", b"\xfe"), 70_000)  # fmt: skip
_loop("modexp-square", "squares of 1,024 bytes by an odd modulus", 5, modexp_input(1024, b"\x02", b""), 70_000)
_loop("ec-add", "additions of bn254", 6, _BN_GENERATOR * 2, 150)
_loop("ec-mul", "multiplications of bn254 by the greatest scalar", 7, _BN_GENERATOR + _MAX, 6_000)
_loop("ec-pairing", "pairings of four pairs of bn254", 8, pairing_input(4), 181_000)
_loop("ec-pairing-one", "pairings of one pair of bn254", 8, pairing_input(1), 79_000)
_loop("blake2f", "BLAKE2b of 100,000 rounds", 9, blake2f_input(100_000), 100_000)
_loop("blake2f-short", "BLAKE2b of one round", 9, blake2f_input(1), 1)
_once("blake2f-long", "BLAKE2b of 16 million rounds: one call that cannot be interrupted", 9,
      blake2f_input(16_000_000))  # fmt: skip
_loop("kzg", "point evaluations with a wrong proof, which costs the same", 10,
      versioned_hash(GENERATOR) + _words(5, 7, size=32) + GENERATOR * 2, 50_000, exact=True)  # fmt: skip
_loop("bls-g1-add", "additions in G1 of BLS12-381", 0x0B, _words(*_BLS_G1) * 2, 375)
_loop("bls-g1-msm", "sums of 16 products in G1", 0x0C, (_words(*_BLS_G1) + _MAX) * 16, 150_000)
_loop("bls-g1-mul", "products in G1", 0x0C, _words(*_BLS_G1) + _MAX, 12_000)
_loop("bls-g2-add", "additions in G2 of BLS12-381", 0x0D, _words(*_BLS_G2) * 2, 600)
_loop("bls-g2-msm", "sums of 16 products in G2", 0x0E, (_words(*_BLS_G2) + _MAX) * 16, 280_000)
_loop("bls-g2-mul", "products in G2", 0x0E, _words(*_BLS_G2) + _MAX, 22_500)
_loop("bls-pairing", "pairings of one pair of BLS12-381", 0x0F, _words(*_BLS_G1, *_BLS_G2), 70_300)
_loop("bls-pairing-four", "pairings of four pairs of BLS12-381", 0x0F, _words(*_BLS_G1, *_BLS_G2) * 4, 168_100)
_loop("bls-map-g1", "maps of a field element to G1", 0x10, _words(_CURVE_MODULUS - 2), 5_500)
_loop("bls-map-g2", "maps of a field element to G2", 0x11, _words(_CURVE_MODULUS - 2, _CURVE_MODULUS - 3), 23_800)
