"""Differences of two JSON values."""

from collections.abc import Container, Iterator
from typing import Any, NamedTuple

MAX_LENGTH = 160
"""Characters of a value in the text of a difference."""


class JsonDifference(NamedTuple):
    """A value that is recorded and one that was returned, at the same path. A missing field differs from null."""

    path: str
    recorded: str
    returned: str

    def __str__(self) -> str:
        return f"{self.path}: recorded {self.recorded}, got {self.returned}"


def json_differences(
    recorded: Any, returned: Any, path: str = "result", ignored: Container[str] = ()
) -> Iterator[JsonDifference]:
    """Yield each difference, except in fields with `ignored` names."""
    if isinstance(recorded, dict) and isinstance(returned, dict):
        for name in sorted(recorded.keys() | returned.keys()):
            at = f"{path}.{name}"
            if name in ignored:
                continue
            if name not in returned or name not in recorded:
                yield JsonDifference(
                    at, *(_text(each[name]) if name in each else "none" for each in (recorded, returned))
                )
            else:
                yield from json_differences(recorded[name], returned[name], at, ignored)
    elif isinstance(recorded, list) and isinstance(returned, list) and len(recorded) == len(returned):
        for index, pair in enumerate(zip(recorded, returned, strict=True)):
            yield from json_differences(*pair, f"{path}[{index}]", ignored)
    elif recorded != returned or type(recorded) is not type(returned):
        yield JsonDifference(path, _text(recorded), _text(returned))


def _text(value: Any) -> str:
    return repr(value)[:MAX_LENGTH]
