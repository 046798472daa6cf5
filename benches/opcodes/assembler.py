"""Assembler of the programs: opcodes by name, numbers as the shortest push, labels."""

from collections.abc import Mapping

_RANGES: Mapping[int, str] = {
    0x00: "STOP ADD MUL SUB DIV SDIV MOD SMOD ADDMOD MULMOD EXP SIGNEXTEND",
    0x10: "LT GT SLT SGT EQ ISZERO AND OR XOR NOT BYTE SHL SHR SAR CLZ",
    0x20: "KECCAK256",
    0x30: "ADDRESS BALANCE ORIGIN CALLER CALLVALUE CALLDATALOAD CALLDATASIZE CALLDATACOPY CODESIZE CODECOPY GASPRICE "
    "EXTCODESIZE EXTCODECOPY RETURNDATASIZE RETURNDATACOPY EXTCODEHASH",
    0x40: "BLOCKHASH COINBASE TIMESTAMP NUMBER PREVRANDAO GASLIMIT CHAINID SELFBALANCE BASEFEE BLOBHASH BLOBBASEFEE",
    0x50: "POP MLOAD MSTORE MSTORE8 SLOAD SSTORE JUMP JUMPI PC MSIZE GAS JUMPDEST TLOAD TSTORE MCOPY",
    0x5F: " ".join(f"PUSH{size}" for size in range(33)),
    0x80: " ".join(f"DUP{depth}" for depth in range(1, 17)),
    0x90: " ".join(f"SWAP{depth}" for depth in range(1, 17)),
    0xA0: " ".join(f"LOG{topics}" for topics in range(5)),
    0xF0: "CREATE CALL CALLCODE RETURN DELEGATECALL CREATE2",
    0xFA: "STATICCALL",
    0xFD: "REVERT INVALID SELFDESTRUCT",
}
OPCODES: dict[str, int] = {
    name: first + at for first, names in _RANGES.items() for at, name in enumerate(names.split())
}
"""Opcodes of Osaka by name."""
_LABEL_SIZE = 2
_PROBE_SLOT = (1 << 256) - 1
# PUSH32, TSTORE, PUSH1 and GAS next to the body of a probe.
_PROBE_GAS = 3 + 100 + 3 + 2


class AssemblyError(ValueError):
    """The text is not a program; the message names the token."""


def push(value: int) -> bytes:
    """Return the shortest push of a number."""
    size = (value.bit_length() + 7) // 8
    if value < 0 or size > 32:
        raise AssemblyError(f"{value} is not a word of 32 bytes")
    return bytes([OPCODES["PUSH0"] + size]) + value.to_bytes(size)


def assemble(text: str, origin: int = 0) -> bytes:
    """Return the code of a text that starts at offset `origin` of its program.

    Tokens are opcodes, `PUSHn` followed by its operand, numbers as the shortest push, `:name` for a jump destination
    and `@name` for a push of its offset.
    """
    code = bytearray()
    labels: dict[str, int] = {}
    uses: list[tuple[int, str]] = []
    tokens = iter(text.split())
    for token in tokens:
        if token.startswith(":"):
            labels[token[1:]] = origin + len(code)
            code.append(OPCODES["JUMPDEST"])
        elif token.startswith("@"):
            code.append(OPCODES["PUSH0"] + _LABEL_SIZE)
            uses.append((len(code), token[1:]))
            code += bytes(_LABEL_SIZE)
        elif token in OPCODES:
            code.append(OPCODES[token])
            code += _operand(token, next(tokens, "") if _operand_size(token) else "")
        else:
            code += push(_number(token))
    for at, label in uses:
        if label not in labels:
            raise AssemblyError(f"label {label} is not defined")
        code[at : at + _LABEL_SIZE] = labels[label].to_bytes(_LABEL_SIZE)
    return bytes(code)


def _operand_size(name: str) -> int:
    return int(name[4:]) if name.startswith("PUSH") else 0


def _operand(name: str, text: str) -> bytes:
    """Return the operand of an opcode."""
    size = _operand_size(name)
    if not size:
        return b""
    value = _number(text)
    if value.bit_length() > 8 * size:
        raise AssemblyError(f"{text} does not fit into {name}")
    return value.to_bytes(size)


def _number(token: str) -> int:
    try:
        return int(token, 0)
    except ValueError:
        raise AssemblyError(f"{token!r} is neither an opcode nor a number") from None


def loop(body: str, setup: str = "", copies: int = 1) -> bytes:
    """Return a program that runs `setup` once, then `copies` of the body in an infinite loop.

    The body leaves the height of the stack unchanged. Its labels are its own.
    """
    start = assemble(setup)
    code = start + bytes([OPCODES["JUMPDEST"]])
    for _ in range(copies):
        code += assemble(body, len(code))
    return code + push(len(start)) + bytes([OPCODES["JUMP"]])


def probe(body: str, setup: str = "") -> bytes:
    """Return a program that runs the body once, and returns two words: its gas and the size of the last returned data.

    The gas before the body is in transient storage: stack and memory belong to the body.
    """
    code = assemble(f"{setup} GAS {_PROBE_SLOT} TSTORE")
    code += assemble(body, len(code))
    gas = f"{_PROBE_GAS} GAS {_PROBE_SLOT} TLOAD SUB SUB"
    return code + assemble(f"{gas} RETURNDATASIZE 32 MSTORE PUSH0 MSTORE 64 PUSH0 RETURN")
