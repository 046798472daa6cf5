"""Errors for unknown names of settings: what replaces a removed one, or the most similar one."""

from collections.abc import Iterable

from foreseal.server.settings.setting import COMMANDS, PREFIX, Command, Setting
from foreseal.server.settings.table import SECTIONS, TABLE, UNGROUPED

_LIST = "`foreseal config template` shows all settings"


def unknown_key(key: str) -> str:
    """Return the error for an unknown key."""
    section, _, name = key.partition(".")
    own = [setting for setting in TABLE.values() if setting.section == section]
    hint = _meant(name, own, cutoff=0.7) or _meant(name, TABLE.values()) or _LIST
    return removed(key) or f"unknown setting {key}: {hint}"


def nearest_section(name: str, *, is_table: bool) -> str:
    """Return a hint for an unknown section, or for a key outside of all sections."""
    if is_table:
        similar = _closest_match(name, SECTIONS)
        return (
            f"did you mean [{similar}]?"
            if similar
            else f"expected one of {', '.join(f'[{section}]' for section in SECTIONS)}"
        )
    return _meant(name, TABLE.values()) or _LIST


def unknown_variable(name: str, command: Command) -> str:
    """Return the error for an unknown environment variable of a command."""
    variables = [*UNGROUPED, *(setting.variable for setting in TABLE.values())]
    similar = _closest_match(name.removeprefix(PREFIX), [variable.removeprefix(PREFIX) for variable in variables])
    hint = f"did you mean {PREFIX}{similar}?" if similar else _LIST
    return removed(name) or f"unknown variable {name} of {COMMANDS[command]}: {hint}"


def removed(name: str) -> str | None:
    """Return the error for the key, option or variable of a removed setting; None for any other name."""
    # Imported only for an error.
    from foreseal.server.settings.removed import describe_removed

    return describe_removed(name)


def _meant(name: str, settings: Iterable[Setting], cutoff: float = 0.6) -> str | None:
    """Return a question that suggests the most similar setting, also by its option name; None if none is similar."""
    forms: dict[str, str] = {}
    for setting in settings:
        for form in (setting.key.partition(".")[2], setting.name, setting.flag.removeprefix("--").replace("-", "_")):
            forms.setdefault(form, setting.key)
    similar = _closest_match(name.replace("-", "_").lower(), forms, cutoff)
    return f"did you mean {forms[similar]}?" if similar else None


def _closest_match(name: str, names: Iterable[str], cutoff: float = 0.6) -> str | None:
    # Imported only for an error.
    import difflib

    return next(iter(difflib.get_close_matches(name, list(names), 1, cutoff)), None)
