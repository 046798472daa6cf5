"""Reader of `pay.toml`. It reports all problems at once, each with file and key."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from foreseal.payments.configuration.keys import described
from foreseal.payments.configuration.secrets import SecretError
from foreseal.payments.configuration.sections import (
    DatabaseSection,
    FacilitatorSection,
    NodeSection,
    PayeeSection,
    PolicySection,
    ServeSection,
    TokenSection,
    WebhookSection,
)

S = TypeVar("S")

SECTIONS: dict[str, type[Any]] = {
    "node": NodeSection,
    "token": TokenSection,
    "payee": PayeeSection,
    "database": DatabaseSection,
    "serve": ServeSection,
    "facilitator": FacilitatorSection,
    "policy": PolicySection,
}
LISTS: dict[str, type[Any]] = {"webhooks": WebhookSection}


class ConfigurationError(ValueError):
    """Error for an unusable file. `problems` are sentences, each with file and key."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True, slots=True)
class Configuration:
    """Content of a `pay.toml`. A section that only some commands need is None if absent: see `need`."""

    path: Path
    node: NodeSection
    database: DatabaseSection
    policy: PolicySection = field(default_factory=PolicySection)
    serve: ServeSection = field(default_factory=ServeSection)
    token: TokenSection | None = None
    payee: PayeeSection | None = None
    facilitator: FacilitatorSection | None = None
    webhooks: tuple[WebhookSection, ...] = ()

    def need(self, section: S | None, name: str) -> S:
        """Return a section that a command requires. Raises `ConfigurationError` with its name if it is missing."""
        if section is None:
            raise ConfigurationError([f"{self.path}: the section [{name}] is missing"])
        return section


def read(path: Path) -> Configuration:
    """Read the configuration from a file. Raises `ConfigurationError`. Secrets are not read."""
    try:
        text = path.read_bytes().decode()
        tables = tomllib.loads(text)
    except OSError as error:
        raise ConfigurationError([f"cannot read {path}: {error.strerror or error}"]) from None
    except UnicodeDecodeError:
        raise ConfigurationError([f"{path} is not TOML: it is not UTF-8"]) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError([f"{path} is not TOML: {error}"]) from None
    reading = _Reading(path)
    found = reading.all(tables)
    if reading.problems:
        raise ConfigurationError(reading.problems)
    return Configuration(path, **found)


class _Reading:
    def __init__(self, path: Path) -> None:
        self.problems: list[str] = []
        self._path = path

    def all(self, tables: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, table in tables.items():
            if name in SECTIONS:
                found[name] = self._section(SECTIONS[name], name, table)
            elif name in LISTS:
                found[name] = self._list(LISTS[name], name, table)
            else:
                self._wrong(name, f"is not a section{_nearest(name, [*SECTIONS, *LISTS])}")
        serve = found.get("serve") or ServeSection()
        for number, hook in enumerate(found.get("webhooks", ())):
            if hook is not None and (problem := hook.problem(serve)) is not None:
                self._wrong(f"webhooks[{number}].url", problem)
        for section in fields(Configuration):
            required = section.default is MISSING and section.default_factory is MISSING
            if required and section.name in SECTIONS and section.name not in found:
                self.problems.append(f"{self._path}: the section [{section.name}] is missing")
        return found

    def _list(self, kind: type[Any], name: str, tables: Any) -> tuple[Any, ...]:
        if not isinstance(tables, list):
            self._wrong(name, f"must be a list of sections: write [[{name}]] above each")
            return ()
        return tuple(self._section(kind, f"{name}[{number}]", table) for number, table in enumerate(tables))

    def _section(self, kind: type[Any], name: str, table: Any) -> Any:
        if not isinstance(table, dict):
            self._wrong(name, f"must be a section: write [{name}] above its keys")
            return None
        before = len(self.problems)
        fields_by_name = {entry.name: entry for entry in fields(kind)}
        values: dict[str, Any] = {}
        for key, value in table.items():
            if key not in fields_by_name:
                self._wrong(f"{name}.{key}", f"is not a key{_nearest(key, fields_by_name)}")
                continue
            try:
                values[key] = described(fields_by_name[key].metadata).kind.read(value)
            except (TypeError, ValueError) as error:
                self._wrong(f"{name}.{key}", str(error))
        for key, entry in fields_by_name.items():
            if entry.default is MISSING and key not in table:
                self._wrong(f"{name}.{key}", f"is missing: {described(entry.metadata).meaning}")
        if len(self.problems) > before:
            return None
        section = kind(**values)
        if hasattr(section, "secret"):
            try:
                section.secret()
            except SecretError as error:
                self._wrong(name, str(error))
        return section

    def _wrong(self, key: str, what: str) -> None:
        self.problems.append(f"{self._path}: {key}: {what}")


def _nearest(name: str, names: Iterable[str]) -> str:
    matches = difflib.get_close_matches(name, list(names), n=1)
    return f": did you mean {matches[0]}?" if matches else f", expected one of {', '.join(names)}"
