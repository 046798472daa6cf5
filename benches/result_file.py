"""Form of the files in benches/results: a row of a table is one line of JSON."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

MAX_LINE = 800
"""Characters of the longest object or array that is written on one line."""
_MAX_FILLED_LINE = 120
_INDENT = "  "


def save(report: Mapping[str, object], file: Path) -> None:
    """Write figures and their origin as JSON; dataclasses become objects.

    An object or array that fits into MAX_LINE characters is one line. Longer ones have a line for each member, and
    several members a line if none of them is an object or array.
    """
    content = orjson.loads(orjson.dumps(report))
    file.write_text("\n".join(_lines("", content, "")) + "\n", encoding="utf-8")


def _lines(name: str, value: Any, indent: str) -> list[str]:
    """Return the lines of a member; `name` is its key with the colon, empty in an array."""
    short = indent + name + _text(value)
    if not isinstance(value, dict | list) or len(short) <= MAX_LINE:
        return [short]
    if isinstance(value, dict):
        members = [(_text(key) + ": ", member) for key, member in value.items()]
    else:
        members = [("", member) for member in value]
    inner = indent + _INDENT
    blocks = [_lines(key, member, inner) for key, member in members]
    for block in blocks[:-1]:
        block[-1] += ","
    lines = [line for block in blocks for line in block]
    if not any(isinstance(member, dict | list) for _, member in members):
        lines = _filled(lines, inner)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return [indent + name + opening, *lines, indent + closing]


def _filled(lines: list[str], indent: str) -> list[str]:
    """Join consecutive lines as far as they fit into _MAX_FILLED_LINE characters."""
    filled = lines[:1]
    for line in lines[1:]:
        joined = f"{filled[-1]} {line.removeprefix(indent)}"
        if len(joined) <= _MAX_FILLED_LINE:
            filled[-1] = joined
        else:
            filled.append(line)
    return filled


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        save(orjson.loads(Path(name).read_bytes()), Path(name))
