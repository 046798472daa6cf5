"""Words and openings that comments, docstrings, documentation pages and messages do not use."""

import re

MAX_WIDTH = 120
"""Columns of a line of prose that is wrapped."""

OPENINGS = (
    *("What", "Whether", "Who", "Whoever", "Whatever", "Whose", "Where", "Of", "As", "Those", "Such"),
    *("How much", "How many", "So", "There is", "There are"),
)
"""First words that say nothing about what follows."""

MESSAGE_OPENINGS = (
    *("What", "Whether", "Whoever", "Whatever", "Whose", "Those", "Such"),
    *("There is", "There are"),
)
"""Openings that no error message, help text or log line has, in upper or lower case."""

WORDS = (
    *("lately", "somebody", "nobody", "whoever", "whatever", "of then", "as it stands", "at hand"),
    *("the short way", "the long way", "mended", "thrown away", "is to be had"),
)
"""Words with a standard term in this field. `names` lists words that are fine in sentences and fail only as names."""

_OPENING = re.compile(rf"(?:{'|'.join(OPENINGS)})\b")
_MESSAGE_OPENING = re.compile(rf"(?:{'|'.join(MESSAGE_OPENINGS)}) ", re.IGNORECASE)
_WORD = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
_CODE = re.compile(r"`[^`]*`")


def find_opening(text: str) -> str | None:
    """Return the banned opening of a comment or docstring, None if it has none."""
    match = _OPENING.match(text)
    return match[0] if match else None


def find_message_opening(text: str) -> str | None:
    """Return the banned opening of a text in a string literal, None if it has none."""
    match = _OPENING.match(text) or _MESSAGE_OPENING.match(text)
    return match[0].strip() if match else None


def find_words(text: str) -> list[str]:
    """Return the banned words of a line; code in backticks does not count."""
    return _WORD.findall(_CODE.sub("", text))
