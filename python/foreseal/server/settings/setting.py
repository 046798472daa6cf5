"""One row of the table of settings."""

from dataclasses import dataclass
from typing import Any, Literal

from foreseal.server.settings.kinds import ValueKind

Command = Literal["dev", "run", "app"]
"""Consumers of settings: `foreseal dev`, `foreseal run`, and the ASGI application under a third-party server."""

COMMANDS: dict[Command, str] = {"dev": "foreseal dev", "run": "foreseal run", "app": "the ASGI application"}
EVERY = frozenset[Command](COMMANDS)
STARTED = frozenset[Command](("dev", "run"))

REVERT_REASON_FIELDS = REASON_IN_DATA, REASON_IN_MESSAGE = "data", "message"
"""Fields of an error that can have a revert reason."""

PREFIX = "FORESEAL_"
"""Prefix of every environment variable."""

_SUBJECTS = {
    "limits": "the {} limit",
    "public": "the public {} limit",
    "pool": "the pool's {}",
    "store": "the store's {}",
}


class SettingsError(ValueError):
    """An invalid setting; the message names it."""

    def __init__(self, message: str, *keys: str) -> None:
        """Create the error. `keys` are the conflicting settings, if the message does not name their sources."""
        super().__init__(message)
        self.keys = keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting: its name in every source, the kind of its values, its purpose."""

    key: str
    """Section and name in a file: `limits.body`."""
    name: str
    """Base of the option and variable names: `max_body`."""
    kind: ValueKind
    help: str
    """Help text, one sentence in one line."""
    path: str
    """Field of `Settings` for the value: `limits.body`. The field's default is that of the setting."""
    unset: str = ""
    """Description of the behaviour without a value and a default."""
    more: str = ""
    """Text of the reference in addition to `help`."""
    commands: frozenset[Command] = EVERY
    secret: bool = False
    """True if the value is never displayed."""
    option: str = ""
    """Option name, if it is not derived from `name`."""

    @property
    def section(self) -> str:
        """Section of a file."""
        return self.key.partition(".")[0]

    @property
    def flag(self) -> str:
        """Option on the command line."""
        return self.option or "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """Environment variable."""
        return PREFIX + self.name.upper()

    def check(self, value: Any) -> Any:
        """Return the value if it is within the bounds of its kind. Raises ValueError."""
        if value is not None and not self.kind.fits(value):
            subject = _SUBJECTS.get(self.section, "the {}").format(self.key.partition(".")[2].replace("_", " "))
            raise ValueError(self.kind.misfit(value, subject))
        return value


def not_here(setting: Setting, name: str, command: Command) -> str:
    """Return the error for a setting, by its name in the source, that `command` does not have."""
    others = " and ".join(COMMANDS[other] for other in COMMANDS if other in setting.commands)
    return f"{name} is a setting of {others}, not of {COMMANDS[command]}"
