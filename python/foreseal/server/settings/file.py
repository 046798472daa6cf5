"""TOML files of settings."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from foreseal.server.settings.names import nearest_section, unknown_key
from foreseal.server.settings.origin import SettingValue, ValueOrigin
from foreseal.server.settings.setting import Command, SettingsError, not_here
from foreseal.server.settings.table import SECTIONS, TABLE

_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?")
_KEY = re.compile(r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")
_AT_LINE = re.compile(r" \(at line (\d+), column \d+\)$")


class SettingsFile:
    """Settings in a file. `values` has the valid ones, `problems` one line for each error."""

    def __init__(self, path: Path, command: Command | None) -> None:
        """Read it for `command`; None accepts settings of any command. Raises `SettingsError` for invalid TOML."""
        self.values: dict[str, SettingValue] = {}
        self.problems: list[str] = []
        self._path = path
        self._command = command
        try:
            text = path.read_bytes().decode()
        except OSError as error:
            raise SettingsError(f"cannot read the settings in {path}: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise SettingsError(f"{path} is not a settings file: it is not UTF-8") from None
        key_lines = list(_find_keys(text))
        self._lines = dict(key_lines)
        try:
            tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(_twice(path, key_lines) or _no_toml(path, str(error))) from None
        for section, table in tables.items():
            self._read_section(section, table)

    def _read_section(self, section: str, table: Any) -> None:
        if section not in SECTIONS:
            name = f"unknown section [{section}]" if isinstance(table, dict) else f"{section} must be in a section"
            self._problem(section, f"{name}: {nearest_section(section, is_table=isinstance(table, dict))}")
        elif not isinstance(table, dict):
            self._problem(section, f"{section} must be a section: write [{section}] above its settings")
        else:
            for name, value in table.items():
                self._read(f"{section}.{name}", value)

    def _read(self, key: str, value: Any) -> None:
        setting = TABLE.get(key)
        if setting is None:
            self._problem(key, unknown_key(key))
        elif self._command is not None and self._command not in setting.commands:
            self._problem(key, not_here(setting, key, self._command))
        else:
            try:
                read = setting.check(setting.kind.read(value))
                self.values[setting.key] = SettingValue(setting.key, read, self._origin(key))
            except (TypeError, ValueError) as error:
                allowed = setting.kind.allowed
                reason = f"expected {allowed}" if setting.secret else f"{error}; allowed: {allowed}"
                self._problem(key, f"{key}: {reason}")

    def _problem(self, key: str, message: str) -> None:
        self.problems.append(f"{self._origin(key)}: {message}")

    def _origin(self, key: str) -> ValueOrigin:
        return ValueOrigin("file", str(self._path), self._lines.get(key))


def _no_toml(path: Path, message: str) -> str:
    """Return the error for invalid TOML, starting with the line."""
    line = _AT_LINE.search(message)
    where = f"{path}:{line[1]}" if line else str(path)
    return f"{where}: {_AT_LINE.sub('', message)}"


def _twice(path: Path, key_lines: list[tuple[str, int]]) -> str | None:
    """Return the error for a duplicate key, with both lines; None if there is none."""
    first: dict[str, int] = {}
    for name, line in key_lines:
        if name in first:
            return f"{path}:{line}: duplicate {name}, first defined in line {first[name]}"
        first[name] = line
    return None


def _find_keys(text: str) -> Iterator[tuple[str, int]]:
    """Yield sections and keys with their lines, including duplicates.

    TOML's own parser reports no lines. This one supports the usual forms; keys inside an inline table have no line.
    """
    section, quoted = "", ""
    for number, line in enumerate(text.splitlines(), 1):
        inside, quoted = quoted, _still_quoted(line, quoted)
        if inside:
            continue
        header, key = _HEADER.fullmatch(line), _KEY.match(line)
        if header:
            section = _bare(header[1])
            yield section, number
        elif line.lstrip().startswith("[["):
            section = f"{number}"
        elif key:
            yield f"{section}.{_bare(key[1])}".removeprefix("."), number


def _still_quoted(line: str, quoted: str) -> str:
    """Return the quotes of a multi-line string that is open after `line`; empty if there is none."""
    for quotes in (quoted,) if quoted else ('"""', "'''"):
        if line.count(quotes) % 2:
            return "" if quoted else quotes
    return quoted


def _bare(name: str) -> str:
    return ".".join(segment.strip().strip("\"'") for segment in name.split("."))
