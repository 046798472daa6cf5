"""Ids that callers choose for orders and refunds: any text that every database stores unchanged."""

LONGEST = 200
"""Maximum length of an id in code points."""


def identifier(value: object, name: str = "id") -> str:
    """Return a valid id unchanged. Ids are not normalized: any difference makes two ids.

    Raises TypeError unless it is a string. Raises ValueError if it is empty, too long, or has a NUL or a lone
    surrogate, which PostgreSQL does not store.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name}: {value!r} must be a string, got {type(value).__name__}")
    if not 0 < len(value) <= LONGEST:
        raise ValueError(f"{name}: must have 1 to {LONGEST} characters, got {len(value)}")
    if not is_storable(value):
        raise ValueError(f"{name}: {value!r} must not contain NUL or a lone surrogate")
    return value


def is_storable(text: str) -> bool:
    """Return True if every database can store the text."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
