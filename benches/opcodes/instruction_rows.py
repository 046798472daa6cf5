"""Rows of opcodes that need no account: arithmetic, environment, memory, storage, control flow, logs."""

from collections.abc import Iterator

from benches.opcodes.rows import Row

_MAX = (1 << 256) - 1
_PATTERN = int.from_bytes(b"\xfe\xdc" * 16)
_NEGATIVE = 1 << 255
_WIDE = (1 << 128) + 1
"""The smallest divisor with three words of 64 bits."""
KIB = 1024
SIZES = {"nothing": 0, "32 bytes": 32, "1 KiB": KIB, "16 KiB": 16 * KIB}
_MEMORY = f"{16 * KIB} MLOAD POP"
# (opcode, left operand, right operand) by size of the operands; the left one is on top.
_BINARY = {
    "small": dict.fromkeys("ADD MUL SUB DIV SDIV MOD SMOD LT GT SLT SGT EQ AND OR XOR".split(), (7, 3))
    | {"EXP": (7, 3), "SIGNEXTEND": (0, 0x7F), "BYTE": (31, 7), "SHL": (1, 7), "SHR": (1, 7), "SAR": (1, 7)},
    "256 bits": dict.fromkeys("ADD MUL SUB DIV MOD LT GT EQ AND OR XOR EXP".split(), (_MAX, _PATTERN))
    | dict.fromkeys("SDIV SMOD SLT SGT".split(), (_NEGATIVE, _PATTERN))
    | {"SIGNEXTEND": (30, _MAX), "BYTE": (1, _MAX), "SHL": (127, _MAX), "SHR": (127, _MAX), "SAR": (127, _NEGATIVE)},
    "256 by 129 bits": dict.fromkeys("DIV MOD".split(), (_MAX, _WIDE))
    | dict.fromkeys("SDIV SMOD".split(), (_NEGATIVE, _WIDE)),
    "256 by 64 bits": dict.fromkeys("DIV MOD EXP".split(), (_MAX, (1 << 64) - 1)),
    "of a negative number": {"SIGNEXTEND": (0, 0x80)},
}
_TERNARY = {
    "small": (7, 3, 5),
    "256 bits": (_MAX, _MAX - 2, _PATTERN),
    "modulus of 129 bits": (_MAX, _MAX - 2, _WIDE),
}
_UNARY = {"ISZERO": (0, _MAX), "NOT": (0, _MAX), "CLZ": (1, _MAX)}
_PUSHED = (
    "ADDRESS ORIGIN CALLER CALLVALUE CALLDATASIZE CODESIZE GASPRICE RETURNDATASIZE COINBASE TIMESTAMP NUMBER "
    "PREVRANDAO GASLIMIT CHAINID SELFBALANCE BASEFEE BLOBBASEFEE PC MSIZE GAS"
).split()


def arithmetic() -> Iterator[Row]:
    """Yield arithmetic, comparison and bit operations."""
    for size, operations in _BINARY.items():
        for name, (left, right) in operations.items():
            yield Row(f"{name} {size}", name, f"DUP2 DUP2 {name} POP", f"{right} {left}")
    for size, (left, right, modulus) in _TERNARY.items():
        for name in ("ADDMOD", "MULMOD"):
            yield Row(f"{name} {size}", name, f"DUP3 DUP3 DUP3 {name} POP", f"{modulus} {right} {left}")
    for name, operands in _UNARY.items():
        for size, operand in zip(("small", "256 bits"), operands, strict=True):
            yield Row(f"{name} {size}", name, f"DUP1 {name} POP", f"{operand}")
    for size, count in {**SIZES, "136 bytes": 136}.items():
        yield Row(f"KECCAK256 {size}", "KECCAK256", f"{count} PUSH0 KECCAK256 POP", _MEMORY)


def environment() -> Iterator[Row]:
    """Yield opcodes that read the environment of a call, and copies."""
    for name in _PUSHED:
        yield Row(name, name, f"{name} POP")
    yield Row("CALLDATALOAD", "CALLDATALOAD", "PUSH0 CALLDATALOAD POP", data=b"\xa5" * 32)
    yield Row("CALLDATALOAD beyond the input", "CALLDATALOAD", "64 CALLDATALOAD POP", data=b"\xa5" * 32)
    yield Row("BLOCKHASH of no recent block", "BLOCKHASH", "GAS BLOCKHASH POP")
    yield Row("BLOBHASH without blobs", "BLOBHASH", "PUSH0 BLOBHASH POP")
    # The identity contract returns the input of its call.
    returned = f"PUSH0 PUSH0 {16 * KIB} PUSH0 4 GAS STATICCALL POP"
    for size, count in SIZES.items():
        for name in ("CALLDATACOPY", "CODECOPY", "RETURNDATACOPY"):
            setup = _MEMORY + (f" {returned}" if name == "RETURNDATACOPY" else "")
            # Data of the same length for each: beyond the end of code, zeros are copied.
            data = b"\xa5" * (16 * KIB) if name == "CALLDATACOPY" else b""
            yield Row(f"{name} {size}", name, f"{count} PUSH0 PUSH0 {name}", setup, data)


def memory() -> Iterator[Row]:
    """Yield opcodes of memory, storage and transient storage."""
    yield Row("MLOAD aligned", "MLOAD", "PUSH0 MLOAD POP", _MEMORY)
    yield Row("MLOAD unaligned", "MLOAD", "31 MLOAD POP", _MEMORY)
    yield Row("MSTORE aligned", "MSTORE", "GAS PUSH0 MSTORE", _MEMORY)
    yield Row("MSTORE unaligned", "MSTORE", "GAS 31 MSTORE", _MEMORY)
    yield Row("MSTORE of a new word", "MSTORE", "GAS MSIZE MSTORE")
    yield Row("MSTORE8", "MSTORE8", "GAS 31 MSTORE8", _MEMORY)
    for size, count in SIZES.items():
        yield Row(f"MCOPY {size}", "MCOPY", f"{count} 16 PUSH0 MCOPY", f"{17 * KIB} MLOAD POP")
    yield Row("MCOPY 16 KiB upwards", "MCOPY", f"{16 * KIB} PUSH0 16 MCOPY", f"{17 * KIB} MLOAD POP")
    yield Row("SLOAD warm", "SLOAD", "PUSH0 SLOAD POP")
    yield Row("SLOAD cold", "SLOAD", "GAS SLOAD POP")
    yield Row("SSTORE warm", "SSTORE", "GAS PUSH0 SSTORE")
    yield Row("SSTORE warm, unchanged", "SSTORE", "PUSH0 PUSH0 SSTORE")
    yield Row("SSTORE cold", "SSTORE", "1 GAS SSTORE")
    yield Row("SSTORE cold, unchanged", "SSTORE", "PUSH0 GAS SSTORE")
    yield Row("TLOAD", "TLOAD", "PUSH0 TLOAD POP")
    yield Row("TLOAD of many slots", "TLOAD", "GAS TLOAD POP")
    yield Row("TSTORE", "TSTORE", "GAS PUSH0 TSTORE")
    yield Row("TSTORE of many slots", "TSTORE", "GAS DUP1 TSTORE")


def stack() -> Iterator[Row]:
    """Yield opcodes of the stack and of control flow."""
    for size in range(33):
        operand = "" if size == 0 else f" {(1 << 8 * size) - 1}"
        yield Row(f"PUSH{size}", f"PUSH{size}", f"PUSH{size}{operand} POP")
    full = " ".join(["PUSH0"] * 17)
    for depth in range(1, 17):
        yield Row(f"DUP{depth}", f"DUP{depth}", f"DUP{depth} POP", full)
        yield Row(f"SWAP{depth}", f"SWAP{depth}", f"SWAP{depth}", full)
    yield Row("POP", "POP", " ".join(["PUSH0"] * 16 + ["POP"] * 16))
    yield Row("JUMPDEST", "JUMPDEST", "JUMPDEST", max_copies=4096)
    yield Row("JUMP", "JUMP", "@next JUMP :next")
    yield Row("JUMPI taken", "JUMPI", "1 @next JUMPI :next")
    yield Row("JUMPI not taken", "JUMPI", "PUSH0 @next JUMPI :next")


def logs() -> Iterator[Row]:
    """Yield logs without data and with 1 KiB."""
    for topics in range(5):
        for size in ("nothing", "1 KiB"):
            body = " ".join(["GAS"] * topics + [str(SIZES[size]), f"PUSH0 LOG{topics}"])
            yield Row(f"LOG{topics} {size}", f"LOG{topics}", body, _MEMORY)


def instruction_rows() -> list[Row]:
    """Return the rows of this module."""
    return [*arithmetic(), *environment(), *memory(), *stack(), *logs()]
