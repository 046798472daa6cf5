"""Paths of routes in a price table, and the paths that a router may read in a request.

The table stands in front of a router that it does not control. Routers differ in the spellings that they treat as one
path, so a path has several readings, and a route matches if any of them does:

```text
request -> path, decoded twice, segments of raw_path -> below root_path -> Reading -> as written | normalized | with an
                                                                                      empty parameter
```
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from re import Pattern
from urllib.parse import unquote

from starlette.types import Scope

_PARAMETER = re.compile(r"\{[A-Za-z_]\w*(?::([A-Za-z_]\w*))?\}")
_SEGMENT_TYPES = {None, "str", "int", "float", "uuid"}
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_ENCODED_SLASH = re.compile("%2f", re.IGNORECASE)
_DOTS = {".", ".."}


class UnclearPath(ValueError):
    """A path that routers may read in ways that have different prices."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A path as a router may read it."""

    text: str

    @property
    def joined(self) -> str:
        """Path without control characters and empty segments, except a slash at its end."""
        return re.sub("/+", "/", "/" + _CONTROLS.sub("", self.text))

    @property
    def normalized(self) -> str:
        """Joined path without the slash at its end."""
        return self.joined.rstrip("/") or "/"


class RoutePath:
    """Path of a route with parameters such as `{name}`, or `{name:path}` for several segments.

    Other types of a parameter are any segment: `{count:int}` also matches `+1`, which some frameworks convert.
    """

    def __init__(self, path: str) -> None:
        """Build the path. Raises ValueError for another syntax of parameters, a query or a dot segment."""
        if not path.startswith("/"):
            raise ValueError("must begin with /")
        if re.search("[<>{}?#]", _PARAMETER.sub("", path)):
            raise ValueError("contains one of < > { } ? # outside a parameter such as {name} or {name:path}")
        if _DOTS & set(unquote(path).split("/")):
            raise ValueError("contains a dot segment")
        self._as_written = _pattern(path, "+", re.DOTALL)
        self._normalized = _pattern(Reading(path).normalized, "+", re.DOTALL | re.IGNORECASE)
        self._with_empty = _pattern(path, "*", re.DOTALL | re.IGNORECASE)

    def matches_as_written(self, reading: Reading) -> bool:
        """Return True if the route has exactly this path."""
        return self._as_written.fullmatch(reading.text) is not None

    def matches_normalized(self, reading: Reading) -> bool:
        """Return True if slashes, case and control characters are the only difference."""
        return self._normalized.fullmatch(reading.normalized) is not None

    def matches_with_empty(self, reading: Reading) -> bool:
        """Return True if the route has this path with an empty parameter."""
        return any(self._with_empty.fullmatch(text) for text in (reading.text, reading.joined))


def readings(scope: Scope) -> Iterator[list[Reading]]:
    """Yield the readings of a path, in groups from the most to the least likely one.

    Raises UnclearPath for a dot segment, and for a path that does not begin with a slash.
    """
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    raw = scope.get("raw_path")
    texts = [path, unquote(path)]
    changed: list[str] = []
    if raw:
        encoded = raw.decode("latin-1").partition("?")[0]
        segments = unquote(_ENCODED_SLASH.sub("%252F", encoded))
        # Middleware may have changed only `path`, and a router may read only `raw_path`.
        (texts if unquote(encoded) == path else changed).append(segments)
    if path and not path.startswith("/"):
        raise UnclearPath("path: must begin with /")
    if any(_DOTS & set(text.split("/")) for text in (*texts, *changed)):
        raise UnclearPath("path: contains a dot segment")
    if root:
        yield _distinct([_below(text, root) for text in texts])
        # Some routers remove `root_path` also before another character, or what precedes it.
        yield _distinct([text.split(root, 1)[-1] for text in texts])
    yield _distinct(texts)
    yield _distinct(changed)


def path_below_root(scope: Scope) -> str:
    """Return the decoded path without the mount point, as the routes of Starlette match it."""
    return _below(str(scope["path"]), str(scope.get("root_path", "")))


def _below(path: str, root: str) -> str:
    return path.removeprefix(root) if root and path.startswith(root + "/") else path


def _distinct(texts: list[str]) -> list[Reading]:
    return [Reading(text) for text in dict.fromkeys(texts)]


def _pattern(path: str, repeat: str, flags: re.RegexFlag) -> Pattern[str]:
    written, end = "", 0
    for parameter in _PARAMETER.finditer(path):
        written += re.escape(unquote(path[end : parameter.start()]))
        written += f"[^/]{repeat}" if parameter[1] in _SEGMENT_TYPES else ".*"
        end = parameter.end()
    return re.compile(written + re.escape(unquote(path[end:])), flags)
