"""Values of settings with their sources."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    """Source of a value: `name` is the file, the variable or the option."""

    kind: Literal["default", "file", "variable", "flag"] = "default"
    name: str = ""
    line: int | None = None
    """Line in the file, if known."""

    def __str__(self) -> str:
        if self.kind == "default":
            return "default"
        return self.name if self.line is None else f"{self.name}:{self.line}"


@dataclass(frozen=True, slots=True)
class SettingValue:
    """A value of the setting `key`."""

    key: str
    value: Any
    origin: ValueOrigin = ValueOrigin()

    @property
    def by_default(self) -> bool:
        """True if no source set the value."""
        return self.origin.kind == "default"

    def where(self) -> str:
        """Describe the source for people: the option, the variable, or file, line and key."""
        return f"{self.key} ({self.origin})" if self.origin.kind == "file" else str(self.origin)
