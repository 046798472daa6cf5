"""The blocks of a page that a reader types or writes to a file."""

import re
from dataclasses import dataclass
from pathlib import Path

_FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# First line of a block that is a file.
_NAMED = re.compile(r"# (/\S+)\n")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block."""

    place: str
    """Page and line."""
    language: str
    text: str

    @property
    def file(self) -> str | None:
        """Path of the file in the block; None if it is no file."""
        named = _NAMED.match(self.text)
        return named[1] if named and self.language in ("toml", "ini") else None

    @property
    def commands(self) -> list[str]:
        """The commands of a shell block, each with its backslash continuations, without comments."""
        if self.language != "sh":
            return []
        whole = re.sub(r"   # .*$", "", self.text, flags=re.MULTILINE)
        return [command.strip() for command in re.findall(r"(?:.*\\\n)*.+\n", whole)]


def blocks(page: Path) -> list[Block]:
    """Return all blocks of a page, in order."""
    text = page.read_text()
    parsed_blocks = [
        Block(f"{page.name}:{text.count(chr(10), 0, match.start()) + 1}", match[1], match[2])
        for match in _FENCED.finditer(text)
    ]
    assert parsed_blocks, f"{page} has no block"
    return parsed_blocks
