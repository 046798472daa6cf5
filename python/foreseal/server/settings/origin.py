"""Values, each with where it came from."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from: `name` is the file, the variable or the option."""

    kind: Literal["default", "file", "variable", "flag"] = "default"
    name: str = ""
    line: int | None = None
    """Of a file, if it is known."""

    def __str__(self) -> str:
        if self.kind == "default":
            return "default"
        return self.name if self.line is None else f"{self.name}:{self.line}"


@dataclass(frozen=True, slots=True)
class Given:
    """A value of the setting `key`."""

    key: str
    value: Any
    origin: Origin = Origin()

    @property
    def by_default(self) -> bool:
        """Whether nobody gave it."""
        return self.origin.kind == "default"

    def where(self) -> str:
        """How people find it: the option, the variable, or file, line and key."""
        return f"{self.key} ({self.origin})" if self.origin.kind == "file" else str(self.origin)
