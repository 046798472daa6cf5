"""Rows of opcodes that read, call, create or delete accounts."""

from collections.abc import Iterator

from benches.opcodes.assembler import assemble
from benches.opcodes.instruction_rows import KIB, SIZES
from benches.opcodes.rows import ABSENT, CONTRACT, Row, with_input

_MAX_CODE, _MAX_INIT_CODE = 24 * KIB, 48 * KIB
_LARGE = assemble("STOP").ljust(_MAX_CODE, b"\x5b")
"""Code of the greatest size: it stops, followed by jump destinations."""
_MEMORY = f"{16 * KIB} MLOAD POP"
_TINY = assemble("PUSH0 PUSH0 RETURN")
# Operands of calls without value after output and input: with a value argument, and without.
_WITH_VALUE, _WITHOUT_VALUE = "PUSH0 PUSH0 PUSH0 PUSH0 PUSH0", "PUSH0 PUSH0 PUSH0 PUSH0"
_CALLS = {
    "CALL": _WITH_VALUE,
    "CALLCODE": _WITH_VALUE,
    "DELEGATECALL": _WITHOUT_VALUE,
    "STATICCALL": _WITHOUT_VALUE,
}


def reads() -> Iterator[Row]:
    """Yield opcodes that read an account: warm, and cold ones that do not exist."""
    for name in ("BALANCE", "EXTCODESIZE", "EXTCODEHASH"):
        yield Row(f"{name} warm", name, f"{CONTRACT} {name} POP", accounts={CONTRACT: _LARGE})
        yield Row(f"{name} cold", name, f"GAS {name} POP")
    for size, count in SIZES.items():
        body = f"{count} PUSH0 PUSH0 {CONTRACT} EXTCODECOPY"
        yield Row(f"EXTCODECOPY {size}", "EXTCODECOPY", body, _MEMORY, accounts={CONTRACT: _LARGE})
    yield Row("EXTCODECOPY cold", "EXTCODECOPY", "32 PUSH0 PUSH0 GAS EXTCODECOPY", _MEMORY)


def calls() -> Iterator[Row]:
    """Yield calls, and the opcodes that end the called code."""
    for name, operands in _CALLS.items():
        yield Row(f"{name} of no account", name, f"{operands} {ABSENT} GAS {name} POP")
        yield Row(f"{name} cold", name, f"{operands} GAS GAS {name} POP")
        for kind, code in (("a tiny contract", _TINY), ("a contract of 24 KiB", _LARGE)):
            body = f"{operands} {CONTRACT} GAS {name} POP"
            yield Row(f"{name} of {kind}", name, body, accounts={CONTRACT: code})
    # The called code uses little gas; INVALID uses all that it gets.
    for name, text in {
        "STOP": "STOP",
        "RETURN 1 KiB": f"{KIB} PUSH0 RETURN",
        "REVERT nothing": "PUSH0 PUSH0 REVERT",
        "REVERT 1 KiB": f"{KIB} PUSH0 REVERT",
        "SELFDESTRUCT of an old contract": "CALLER SELFDESTRUCT",
    }.items():
        body = f"{_WITH_VALUE} {CONTRACT} GAS CALL POP"
        yield Row(name, name.split()[0], body, accounts={CONTRACT: assemble(text)})
    yield Row("RETURN nothing", "RETURN", f"{_WITHOUT_VALUE} {CONTRACT} GAS STATICCALL POP", accounts={CONTRACT: _TINY})
    body = f"{_WITH_VALUE} {CONTRACT} 100 CALL POP"
    yield Row("INVALID with 100 gas", "INVALID", body, accounts={CONTRACT: assemble("INVALID")})


def creations() -> Iterator[Row]:
    """Yield creations of contracts; the init code is the input."""
    deployed = assemble(f"GAS PUSH0 MSTORE {KIB} PUSH0 RETURN")
    codes = {
        "of nothing": b"",
        "of 1 KiB": deployed,
        "with 48 KiB of init code": assemble("STOP").ljust(_MAX_INIT_CODE, b"\x5b"),
    }
    for name, salt in (("CREATE", ""), ("CREATE2", "GAS ")):
        for kind, code in codes.items():
            body = f"{salt}CALLDATASIZE PUSH0 PUSH0 {name} POP"
            yield Row(f"{name} {kind}", name, body, with_input(), code)
    body = "CALLDATASIZE PUSH0 PUSH0 CREATE POP"
    yield Row("SELFDESTRUCT in init code", "SELFDESTRUCT", body, with_input(), assemble("CALLER SELFDESTRUCT"))


def account_rows() -> list[Row]:
    """Return the rows of this module."""
    return [*reads(), *calls(), *creations()]
