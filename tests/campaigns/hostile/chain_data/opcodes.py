"""Instructions: a loop over each with the operands that take the most time."""

from hostile.chain_data.assembler import gas_loop, push
from hostile.chain_data.registry import add

_MAX = b"\x7f" + b"\xff" * 32
_ODD = b"\x7f" + b"\xfe\xdc" * 16
_HIGH = b"\x7f\x80" + bytes(31)
_MAX_COST = 60_000
"""Gas of an unrolled body, below what a loop leaves."""
# Memory of 64 KiB, for instructions that read it.
_MEMORY = push(1 << 16) + b"\x51\x50"


def _binary(name: str, opcode: int, left: bytes = _MAX, right: bytes = _ODD, *, cost: int = 20) -> None:
    """Register an instruction with two operands, which lie below as constants."""
    body = b"\x81\x81" + bytes([opcode]) + b"\x50"
    _simple(name, f"{name.upper()} of 256-bit operands", body, right + left, cost=cost)


def _ternary(name: str, opcode: int) -> None:
    body = b"\x82\x82\x82" + bytes([opcode]) + b"\x50"
    _simple(name, f"{name.upper()} of 256-bit operands", body, _ODD + _MAX + _MAX, cost=20)


def _simple(name: str, description: str, body: bytes, opening: bytes = b"", *, cost: int = 30) -> None:
    """Register a body that costs this much gas at most."""
    add("opcodes", f"op-{name}", description, gas_loop(body, opening, unroll=_MAX_COST // cost))


for _name, _opcode in (("add", 0x01), ("mul", 0x02), ("sub", 0x03), ("div", 0x04), ("sdiv", 0x05), ("mod", 0x06)):
    _binary(_name, _opcode)
_binary("smod", 0x07, _HIGH)
_ternary("addmod", 0x08)
_ternary("mulmod", 0x09)
_binary("exp", 0x0A, cost=1_620)
_binary("exp-short", 0x0A, _MAX, push(0xFF), cost=80)
_binary("signextend", 0x0B, push(0x1E), _MAX)
_binary("lt", 0x10)
_binary("slt", 0x12)
_binary("xor", 0x18)
_binary("byte", 0x1A, push(0x1E), _MAX)
_binary("shl", 0x1B, push(0x7F), _MAX)
_binary("sar", 0x1D, push(0x7F), _HIGH)
_simple("keccak-empty", "KECCAK256 of nothing", b"\x5f\x5f\x20\x50", cost=50)
_simple("keccak-block", "KECCAK256 of 136 bytes: two permutations", push(136) + b"\x5f\x20\x50", cost=80)
_simple("keccak-long", "KECCAK256 of 8 KiB", push(8192) + b"\x5f\x20\x50", _MEMORY, cost=1600)
_simple("address", "ADDRESS and POP", b"\x30\x50")
_simple("balance", "BALANCE of a warm account", b"\x30\x31\x50", cost=110)
_simple("selfbalance", "SELFBALANCE", b"\x47\x50")
_simple("calldataload", "CALLDATALOAD beyond the input", b"\x5f\x35\x50")
_simple("calldatacopy", "CALLDATACOPY of 1 KiB of zeros", push(1024) + b"\x5f\x5f\x37", cost=120)
_simple("codecopy", "CODECOPY of 1 KiB", push(1024) + b"\x5f\x5f\x39", cost=120)
_simple("extcodesize", "EXTCODESIZE of a warm account", b"\x30\x3b\x50", cost=110)
_simple("extcodehash", "EXTCODEHASH of a warm account", b"\x30\x3f\x50", cost=110)
_simple("extcodecopy", "EXTCODECOPY of one word of 12 KB of code", push(32) + b"\x5f\x5f\x30\x3c", cost=130)
_simple("blockhash", "BLOCKHASH of blocks that do not exist", b"\x5a\x40\x50")
_simple("blockhash-recent", "BLOCKHASH of the block before", b"\x60\x01\x43\x03\x40\x50")
_simple("mload", "MLOAD without alignment", b"\x60\x1f\x51\x50")
_simple("mstore", "MSTORE without alignment", b"\x5a\x60\x1f\x52")
_simple("mcopy", "MCOPY of 8 KiB that overlaps", push(8192) + b"\x5f\x60\x01\x5e", _MEMORY, cost=800)
_simple("mcopy-empty", "MCOPY of nothing", b"\x5f\x5f\x5f\x5e")
_simple("sload", "SLOAD of a warm slot", b"\x5f\x54\x50", cost=110)
_simple("tload", "TLOAD", b"\x5f\x5c\x50", cost=110)
_simple("tstore", "TSTORE into one slot", b"\x5a\x5f\x5d", cost=110)
_simple("gas", "GAS and POP", b"\x5a\x50")
_simple("push", "PUSH32 and POP", _MAX + b"\x50")
_simple("dup-swap", "DUP16 and SWAP16", b"\x8f\x9f\x50", b"\x5f" * 17)
_simple("jump", "JUMPI that is not taken", b"\x5f\x5f\x57")
_simple("call", "CALL of a warm account without code", b"\x5f" * 5 + push(0xFFFF) + b"\x5f\xf1\x50", cost=140)
_simple(
    "delegatecall",
    "DELEGATECALL of a warm account without code",
    b"\x5f" * 4 + push(0xFFFF) + b"\x5f\xf4\x50",
    cost=140,
)
_simple(
    "create-failed", "CREATE that fails for its value", b"\x5f\x5f" + b"\x6f" + b"\xff" * 16 + b"\xf0\x50", cost=33000
)
