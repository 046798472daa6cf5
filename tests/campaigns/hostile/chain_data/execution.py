"""Execution: memory, depth, frames and steps, which traces show."""

from hostile.chain_data.assembler import gas_loop, push
from hostile.chain_data.registry import add

_MEMORY = 2_850_000
"""Bytes of memory that 2^24 gas buy."""
_STACK = 1_000
# Output, input, value, own address, all gas.
_SELF_CALL = b"\x5f\x5f\x5f\x5f\x5f\x30\x5a\xf1\x50"

add("execution", "memory", "2.8 MB of memory in one call", push(_MEMORY) + b"\x51\x00")
add("execution", "memory-returned", "2.8 MB of memory as the result", push(_MEMORY) + b"\x5f\xf3")
add("execution", "memory-reverted", "2.8 MB of memory as the reason of a revert", push(_MEMORY) + b"\x5f\xfd",
    succeeds=False)  # fmt: skip
add("execution", "memory-nested", "1 MiB of memory in each of 7 nested calls",
    push(1 << 20) + b"\x51\x50" + _SELF_CALL * 2 + b"\x00", least_gas=0.5)  # fmt: skip
add("execution", "frames", "160,000 calls of an account without code: the most frames",
    gas_loop(b"\x5f\x5f\x5f\x5f" + push(0xFFFF) + b"\x5f\xfa\x50", unroll=64))  # fmt: skip
add("execution", "frames-deep", "calls of itself to the depth that the gas allows, twice in each",
    _SELF_CALL * 2 + b"\x00", least_gas=0.5)  # fmt: skip
add("execution", "steps", "16 million JUMPDEST: the most steps", gas_loop(b"\x5b", unroll=12_000))
add("execution", "steps-wide", "steps with a stack of 1,000 words and 64 KiB of memory",
    gas_loop(b"\x80\x50", push(1 << 16) + b"\x51" + b"\x5f" * _STACK, unroll=4096))  # fmt: skip
add("execution", "invalid", "INVALID, which burns all gas in no time: code `fe` of finding N12", b"\xfe",
    succeeds=False, least_gas=1.0)  # fmt: skip
