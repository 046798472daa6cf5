"""Durations in text form: 200ms, 2s."""

import re

_UNITS = {"ms": 1, "s": 1000, "m": 60_000}
_FORM = re.compile(r"([0-9]{1,9})(ms|s|m)")


def parse_duration(text: str) -> int:
    """Return the milliseconds of a whole number with its unit: ms, s or m. Raises ValueError."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a duration: write a whole number and its unit, such as 200ms or 2s")
    return int(match[1]) * _UNITS[match[2]]


def format_duration(ms: int) -> str:
    """Format `ms` milliseconds in the shortest form."""
    unit = next(unit for unit, size in reversed(_UNITS.items()) if ms % size == 0 and (ms or unit == "s"))
    return f"{ms // _UNITS[unit]}{unit}"
