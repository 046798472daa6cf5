"""Words and openings that comments, docstrings and documentation pages do not use."""

import re

MAX_WIDTH = 120
"""Columns of a line of Markdown that is wrapped."""

OPENINGS = (
    *("What", "Whether", "Who", "Whoever", "Whatever", "Whose", "Where", "Of", "As", "Those", "Such"),
    *("How much", "How many", "So", "There is", "There are"),
)
"""First words that say nothing about what follows."""

WORDS = (
    *("lately", "somebody", "nobody", "whoever", "whatever", "of then", "as it stands", "at hand"),
    *("the short way", "the long way", "mended", "thrown away", "is to be had"),
)
"""Words with a standard term in this field."""

_OPENING = re.compile(rf"(?:{'|'.join(OPENINGS)})\b")
_WORD = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
_CODE = re.compile(r"`[^`]*`")


def find_opening(text: str) -> str | None:
    """Return the banned opening of a comment or docstring, None if it has none."""
    found = _OPENING.match(text)
    return found[0] if found else None


def find_words(text: str) -> list[str]:
    """Return the banned words of a line; code in backticks does not count."""
    return _WORD.findall(_CODE.sub("", text))
