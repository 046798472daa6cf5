"""Input: bytes, access lists and code that a transaction carries. The pool bounds them at 128 KiB."""

import random

from hostile.chain_data.assembler import STOP
from hostile.chain_data.generator import Content
from hostile.chain_data.registry import add

_BYTES = 130_000
"""Bytes of input below the pool's limit for a transaction."""
_BASE, _NONZERO, _ZERO = 21_000, 40, 10
"""Gas of a transaction, and the least gas of a byte of its input (EIP-7623)."""
_KEYS, _ADDRESSES = 3_900, 5_400
_KEY_GAS, _ADDRESS_GAS = 1_900, 2_400
_SPARE = 60_000
_IN_BLOCK = 80
"""Transactions of this size in a block of 10 MiB (EIP-7934)."""


def _nonzero(draw: random.Random) -> Content:
    return Content(data=draw.randbytes(_BYTES).replace(b"\0", b"\1"))


def _keys(draw: random.Random) -> Content:
    return Content(access_list=((draw.randbytes(20), [draw.randbytes(32) for _ in range(_KEYS)]),))


def _addresses(draw: random.Random) -> Content:
    return Content(access_list=tuple((draw.randbytes(20), []) for _ in range(_ADDRESSES)))


add("inputs", "input-bytes", "130 KB of random input", STOP,
    gas=_BASE + _NONZERO * _BYTES, content=_nonzero, most_in_block=_IN_BLOCK)  # fmt: skip
add("inputs", "input-zeros", "130 KB of zeros as input: the most bytes for their gas", STOP,
    gas=_BASE + _ZERO * _BYTES, content=lambda draw: Content(data=bytes(_BYTES)), most_in_block=_IN_BLOCK)  # fmt: skip
add("inputs", "access-keys", "an access list of 3,900 slots", STOP,
    gas=_BASE + _ADDRESS_GAS + _KEY_GAS * _KEYS + _SPARE, content=_keys)  # fmt: skip
add("inputs", "access-addresses", "an access list of 5,400 addresses", STOP,
    gas=_BASE + _ADDRESS_GAS * _ADDRESSES + _SPARE, content=_addresses)  # fmt: skip
