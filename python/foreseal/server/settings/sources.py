"""Merged values of all sources: a file, then variables, then options; the later one wins."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foreseal.rpc.limits import Limits
from foreseal.server.settings.model import SETTING_GROUPS, DevChain, Settings, default_value
from foreseal.server.settings.names import unknown_variable
from foreseal.server.settings.origin import SettingValue, ValueOrigin
from foreseal.server.settings.setting import PREFIX, Command, SettingsError, not_here
from foreseal.server.settings.table import INHERITED, TABLE, UNGROUPED

CONFIG = "FORESEAL_CONFIG"
_DEFAULTS = Limits()


class SettingValues:
    """The value of every setting of a command, with its source."""

    def __init__(self, command: Command, values: Mapping[str, SettingValue]) -> None:
        self.command = command
        self.values = {
            key: values.get(key) or SettingValue(key, default_value(setting))
            for key, setting in TABLE.items()
            if command in setting.commands
        }
        """Values by key, in the order of the table."""

    def section_values(self, section: str) -> list[SettingValue]:
        """Return the values of a section that a source has set."""
        return [value for value in self.values.values() if value.key.startswith(section + ".") and not value.by_default]

    def settings(self, datadir: Path | None = None) -> Settings:
        """Return the typed settings. Raises `SettingsError` for conflicts, and for a missing data directory.

        `datadir` is used if no source sets one.
        """
        tree: dict[str, Any] = {group: {} for group in SETTING_GROUPS}
        for key, value in self.values.items():
            group, _, name = TABLE[key].path.rpartition(".")
            (tree[group] if group else tree)[name] = value.value
        dev = DevChain(**tree.pop("dev")) if self._has_dev_chain() else None
        tree.pop("dev", None)
        if self.command == "dev":
            tree["development"] = True
        if tree["block_time"] == 0 and tree.get("development"):
            tree |= {"automine": True, "block_time": default_value(TABLE["node.block_time"])}
        if tree.get("development") and self.values["limits.address_connections"].by_default:
            # All clients of a development chain have the address of the machine, and those of tests poll concurrently.
            tree["limits"]["address_connections"] = _DEFAULTS.open
        _follow_response(tree["limits"], tree["core_limits"])
        tree["browsers"] = tree.get("development", False)
        tree["datadir"] = tree["datadir"] or datadir
        if tree["datadir"] is None:
            raise SettingsError(
                "FORESEAL_DATADIR is not set: set it to the data directory of the chain", "node.datadir"
            )
        try:
            parts = {group: kind(**tree.pop(group)) for group, kind in SETTING_GROUPS.items() if group != "dev"}
            return Settings(**tree, **parts, dev=dev)
        except SettingsError as error:
            raise SettingsError(f"{error}{self._named(error.keys)}", *error.keys) from None

    def _has_dev_chain(self) -> bool:
        """Return True if the chain is the development genesis. Raises `SettingsError` for settings without effect."""
        if self.command == "run":
            return False
        shaping, genesis = self.section_values("dev"), self.values["node.genesis"]
        if shaping and genesis.value is not None:
            named = " and ".join(sorted(value.where() for value in shaping))
            raise SettingsError(f"{named} configure the development genesis and conflict with {genesis.where()}")
        if self.command == "dev":
            return genesis.value is None
        on = self.values["node.dev"].value
        if shaping and not on:
            raise SettingsError(f"{shaping[0].where()} configures the development genesis and requires FORESEAL_DEV")
        return bool(on)

    def _named(self, keys: tuple[str, ...]) -> str:
        """Return the sources of conflicting settings, except options, which the user can see."""
        conflicting = [self.values[key] for key in keys if key in self.values]
        named = [value.where() for value in conflicting if value.origin.kind in ("file", "variable")]
        return f": {' and '.join(named)}" if named else ""


def merge_sources(
    command: Command,
    environment: Mapping[str, str],
    options: Mapping[str, Any] | None = None,
    file: Path | None = None,
) -> SettingValues:
    """Collect every setting of `command`. Raises `SettingsError` with the source of the error.

    `options` has the values from the command line by name. `file` is that of --config; without it FORESEAL_CONFIG names
    one.
    """
    values: dict[str, SettingValue] = {}
    named = environment.get(CONFIG)
    if file is None and named:
        file = Path(named)
    if file is not None:
        # Imported only if there is a file: with the TOML parser it takes several milliseconds.
        from foreseal.server.settings.file import SettingsFile

        read = SettingsFile(file, command)
        if read.problems:
            more = f" (and {len(read.problems) - 1} more: `foreseal config check`)" if len(read.problems) > 1 else ""
            raise SettingsError(read.problems[0] + more)
        values |= read.values
    values |= _read_environment(command, environment)
    for setting in TABLE.values():
        if options and setting.name in options:
            values[setting.key] = SettingValue(setting.key, options[setting.name], ValueOrigin("flag", setting.flag))
    return SettingValues(command, values)


def _follow_response(limits: dict[str, Any], core_limits: dict[str, Any]) -> None:
    """Set the limits without a setting that grow with the largest body and response, and that of traces."""
    ratio = max(1.0, limits["response"] / _DEFAULTS.response, limits["body"] / _DEFAULTS.response)
    for name in ("connection_bytes", "address_bytes", "total_bytes"):
        limits[name] = int(getattr(_DEFAULTS, name) * ratio)
    core_limits["trace_bytes"] = limits["response"]


def from_environment(environment: Mapping[str, str]) -> Settings:
    """Return the settings of a server that granian or uvicorn started. Raises `SettingsError` that names the error."""
    return merge_sources("app", environment).settings()


def _read_environment(command: Command, environment: Mapping[str, str]) -> dict[str, SettingValue]:
    """Read settings from FORESEAL_* variables; empty ones are unset. Raises `SettingsError`, also for unknown ones."""
    settings = {setting.variable: setting for setting in TABLE.values()}
    values = {}
    for variable in sorted(environment):
        if (
            not variable.startswith(PREFIX)
            or variable in UNGROUPED
            or variable in INHERITED
            or not environment[variable]
        ):
            continue
        setting = settings.get(variable)
        if setting is None:
            raise SettingsError(unknown_variable(variable, command))
        if command not in setting.commands:
            raise SettingsError(not_here(setting, variable, command))
        try:
            value = setting.check(setting.kind.parse(environment[variable]))
        except ValueError as error:
            raise SettingsError(
                f"{variable}: " + (f"expected {setting.kind.allowed}" if setting.secret else str(error))
            ) from None
        values[setting.key] = SettingValue(setting.key, value, ValueOrigin("variable", variable))
    return values
