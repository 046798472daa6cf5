"""A row of the table of settings."""

from dataclasses import dataclass
from typing import Any, Literal

from foreseal.server.settings.kinds import Kind

Command = Literal["dev", "run", "app"]
"""What takes settings: `foreseal dev`, `foreseal run`, and the ASGI application behind a server of another's."""

COMMANDS: dict[Command, str] = {"dev": "foreseal dev", "run": "foreseal run", "app": "the ASGI application"}
EVERY = frozenset[Command](COMMANDS)
STARTED = frozenset[Command](("dev", "run"))

PREFIX = "FORESEAL_"
"""Of every variable."""

_SUBJECTS = {"limits": "the {} limit", "public": "the public {} limit", "store": "the store's {}"}


class SettingsError(ValueError):
    """A setting that cannot be used; the message names it."""

    def __init__(self, message: str, *keys: str) -> None:
        """`keys` are the settings that do not go together, where the message does not say where they come from."""
        super().__init__(message)
        self.keys = keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting: its names in every source, the kind of its values, what it is for."""

    key: str
    """Section and name in a file: `limits.body`."""
    name: str
    """What option and variable are called after: `max_body`."""
    kind: Kind
    help: str
    """One line, a sentence."""
    place: str
    """Where in `Settings` the value goes: `limits.body`. Its default there is the setting's."""
    unset: str = ""
    """What holds where there is no value and no default."""
    more: str = ""
    """What the reference says beside `help`."""
    commands: frozenset[Command] = EVERY
    secret: bool = False
    """Whether the value is shown to nobody."""
    option: str = ""
    """The option, where it is not made from `name`."""

    @property
    def section(self) -> str:
        """Section of a file."""
        return self.key.partition(".")[0]

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return self.option or "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """The environment variable."""
        return PREFIX + self.name.upper()

    def check(self, value: Any) -> Any:
        """The value, if it is inside the bounds of its kind. Raises ValueError."""
        if value is not None and not self.kind.fits(value):
            subject = _SUBJECTS.get(self.section, "the {}").format(self.key.partition(".")[2].replace("_", " "))
            raise ValueError(self.kind.misfit(value, subject))
        return value
