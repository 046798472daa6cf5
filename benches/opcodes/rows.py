"""A row: a program that loops one opcode or precompiled contract, with the state and the input that it needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from benches.opcodes.assembler import assemble, loop, probe

CONTRACT = 0xC0DE00
"""Address of the first contract that programs call."""
ABSENT = 0xE0E0E0
"""Address without an account."""
_MAX_COPIES, _MAX_SIZE = 256, 8192
_LOAD_INPUT = "CALLDATASIZE PUSH0 PUSH0 CALLDATACOPY"


@dataclass(frozen=True)
class Row:
    """A program of the table."""

    name: str
    subject: str
    """Opcode that the body repeats, or name of the precompiled contract."""
    body: str
    """Text of one copy; it leaves the height of the stack unchanged."""
    setup: str = ""
    data: bytes = b""
    """Input of the call; the setup copies it to memory if the body needs it there."""
    accounts: Mapping[int, bytes] = field(default_factory=dict)
    """Code of other contracts by address."""
    max_copies: int = _MAX_COPIES
    returns_data: bool = False
    """`True` if a body that succeeds leaves returned data."""

    @cached_property
    def code(self) -> bytes:
        """The program, which ends when its gas is used."""
        size = len(assemble(self.body))
        return loop(self.body, self.setup, max(min(self.max_copies, _MAX_SIZE // size), 1))

    @property
    def probe(self) -> bytes:
        """The program that returns the gas of one copy and the size of its returned data."""
        return probe(self.body, self.setup)


def with_input(setup: str = "") -> str:
    """Return a setup that also copies the input to memory."""
    return f"{_LOAD_INPUT} {setup}".strip()
