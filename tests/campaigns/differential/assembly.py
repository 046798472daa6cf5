"""A minimal assembler for contracts that tests generate."""

from dataclasses import dataclass
from typing import TypeAlias

from benches.opcodes.assembler import OPCODES


@dataclass(frozen=True, eq=False, slots=True)
class Label:
    """A position in code: `At` marks it, the label itself pushes its offset."""


@dataclass(frozen=True, slots=True)
class At:
    """A jump destination, or the start of data, which has no JUMPDEST."""

    label: Label
    data: bool = False


Part: TypeAlias = str | int | bytes | Label | At
"""Opcodes by name, several in a text; a number to push; raw bytes; labels."""


def push(number: int) -> bytes:
    """Return the shortest PUSH of a number below 2^256."""
    digits = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes([0x5F + len(digits)]) + digits


def assemble(*parts: Part) -> bytes:
    """Return the code of these parts. Raise KeyError for an unknown opcode or label."""
    code, places, uses = bytearray(), dict[Label, int](), list[tuple[int, Label]]()
    for part in parts:
        match part:
            case str():
                code += bytes(OPCODES[name] for name in part.split())
            case int():
                code += push(part)
            case bytes():
                code += part
            case Label():
                uses.append((len(code) + 1, part))
                code += b"\x61\0\0"
            case At():
                places[part.label] = len(code)
                if not part.data:
                    code.append(OPCODES["JUMPDEST"])
    for position, label in uses:
        code[position : position + 2] = places[label].to_bytes(2, "big")
    return bytes(code)


def creation_code(runtime: bytes) -> bytes:
    """Return init code that deploys this runtime code."""
    start = Label()
    return assemble(len(runtime), "DUP1", start, "PUSH0 CODECOPY PUSH0 RETURN", At(start, data=True), runtime)
