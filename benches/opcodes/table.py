"""All rows of the table."""

from benches.opcodes.account_rows import account_rows
from benches.opcodes.instruction_rows import instruction_rows
from benches.opcodes.precompile_rows import precompile_rows
from benches.opcodes.rows import Row


def all_rows() -> list[Row]:
    """Return every row: opcodes, then precompiled contracts."""
    return [*instruction_rows(), *account_rows(), *precompile_rows()]


def select(rows: list[Row], names: str) -> list[Row]:
    """Return the rows with one of these names or subjects, separated by commas. Raise ValueError if one has no row."""
    chosen: list[Row] = []
    for name in (each.strip().lower() for each in names.split(",")):
        matches = [row for row in rows if name in (row.name.lower(), row.subject.lower())]
        if not matches:
            raise ValueError(f"no row or opcode is named {name!r}")
        chosen += [row for row in matches if row not in chosen]
    return chosen
