"""Storage: slots that a transaction writes, reads and clears."""

import random

from hostile.chain_data.assembler import gas_loop
from hostile.chain_data.generator import Content
from hostile.chain_data.registry import add

STORED = 8192
"""Slots of a contract that are set in the genesis."""
# The next slot is on the stack; a transaction's first one is its input.
_FROM_INPUT = b"\x5f\x35"
_NEXT = b"\x60\x01\x01"


def fresh(draw: random.Random) -> Content:
    """Return an input that no other transaction has: the number of its first slot or account."""
    return Content(data=(1 << 250 | draw.getrandbits(200) << 32).to_bytes(32))


add("storage", "slots-written", "757 slots that nobody has written before",
    gas_loop(b"\x80\x80\x55" + _NEXT, _FROM_INPUT), content=fresh)  # fmt: skip
add("storage", "slots-read", "7,900 slots that do not exist",
    gas_loop(b"\x80\x54\x50" + _NEXT, _FROM_INPUT, unroll=16), content=fresh)  # fmt: skip
add("storage", "slots-read-stored", "7,900 slots of a contract with 8,192",
    gas_loop(b"\x80\x54\x50" + _NEXT, b"\x5f", unroll=16), slots=STORED)  # fmt: skip
# A refund of a fifth of the gas reduces what a transaction that clears has used.
add("storage", "slots-toggled", "slots that are cleared if set, and set if not",
    gas_loop(b"\x80\x54\x15\x81\x55" + _NEXT, b"\x5f"), slots=STORED, least_gas=0.7)  # fmt: skip
add("storage", "slots-rewritten", "the same slot, written 150,000 times",
    gas_loop(b"\x5a\x5f\x55", unroll=64))  # fmt: skip
add("storage", "slots-transient", "transient slots: 160,000 that live for one transaction",
    gas_loop(b"\x80\x80\x5d" + _NEXT, b"\x5f", unroll=16))  # fmt: skip
add("storage", "slots-reverted", "slots that are written and reverted",
    gas_loop(b"\x80\x80\x55" + _NEXT, _FROM_INPUT).removesuffix(b"\x00") + b"\x5f\x5f\xfd",
    content=fresh, succeeds=False)  # fmt: skip
