"""Reader of `pay.toml`. It reports all problems at once, each with file and key."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field, ValidationError
from pydantic_core import ErrorDetails

from foreseal.payments.configuration.checkout_section import CheckoutSection
from foreseal.payments.configuration.destinations import (
    ConfiguredDestination,
    DestinationSection,
    destination_problems,
    list_destinations,
)
from foreseal.payments.configuration.keys import Section
from foreseal.payments.configuration.sections import (
    DashboardSection,
    DatabaseSection,
    FacilitatorSection,
    MerchantSection,
    NodeSection,
    PayeeSection,
    PolicySection,
    ServeSection,
    TokenSection,
    WebhookSection,
)
from foreseal.payments.validation import describe, enclosing_model, field_path

S = TypeVar("S", bound=Section)


class ConfigurationError(ValueError):
    """Error for an unusable file. `problems` are sentences, each with file and key."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))


class FileContent(Section):
    """The sections of a file. A section that only some commands need is None if absent."""

    merchant: MerchantSection | None = None
    node: NodeSection
    token: TokenSection | None = None
    payee: PayeeSection | None = None
    database: DatabaseSection
    serve: ServeSection = ServeSection()
    checkout: CheckoutSection | None = None
    dashboard: DashboardSection = DashboardSection()
    destinations: Annotated[tuple[DestinationSection, ...], Field(strict=False)] = ()
    facilitator: FacilitatorSection | None = None
    policy: PolicySection = PolicySection()
    webhooks: Annotated[tuple[WebhookSection, ...], Field(strict=False)] = ()


class Configuration(FileContent):
    """Content of a `pay.toml`, and the file's path: see `need`."""

    path: Path

    def need(self, section: S | None, name: str) -> S:
        """Return a section that a command requires. Raises `ConfigurationError` with its name if it is missing."""
        if section is None:
            raise ConfigurationError([f"{self.path}: the section [{name}] is missing"])
        return section

    def list_destinations(self) -> list[ConfiguredDestination]:
        """Return all destinations, the default first. Raises `ConfigurationError` without [token] or [payee]."""
        token, payee = self.need(self.token, "token"), self.need(self.payee, "payee")
        return list_destinations(token, payee, self.serve, self.destinations)


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
    try:
        content = FileContent.model_validate(tables)
    except ValidationError as error:
        details = sorted(error.errors(include_url=False), key=lambda each: _position(tables, each["loc"]))
        raise ConfigurationError(f"{path}: {_problem(each)}" for each in details) from None
    forbidden = ((number, hook.problem(content.serve)) for number, hook in enumerate(content.webhooks))
    problems = [f"{path}: webhooks[{number}].url: {problem}" for number, problem in forbidden if problem is not None]
    configuration = Configuration(path=path, **dict(content))
    if content.destinations:
        problems += [f"{path}: {each}" for each in destination_problems(configuration.list_destinations())]
    if problems:
        raise ConfigurationError(problems)
    return configuration


def _position(tables: Mapping[str, object], location: Sequence[int | str]) -> list[int]:
    """Return the position of a key in the file; absent keys come last."""
    positions: list[int] = []
    value: Any = tables
    for each in location:
        present = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
        positions.append(present.index(each) if each in present else len(present))
        value = value[each] if each in present else {}
    return positions


def _problem(error: ErrorDetails) -> str:
    location, kind = error["loc"], error["type"]
    name, key = field_path(location), str(location[-1])
    fields = enclosing_model(FileContent, location).model_fields
    if len(location) == 1:
        match kind:
            case "missing":
                return f"the section [{name}] is missing"
            case "extra_forbidden":
                return f"{name}: is not a section{_nearest(key, fields)}"
            case "model_type":
                return f"{name}: must be a section: write [{name}] above its keys"
            case "tuple_type":
                return f"{name}: must be a list of sections: write [[{name}]] above each"
    match kind:
        case "missing":
            return f"{name}: is missing: {fields[key].description}"
        case "extra_forbidden":
            return f"{name}: is not a key{_nearest(key, fields)}"
        case "string_type":
            return f"{name}: {describe(error)} in quotes"
    return f"{name}: {describe(error)}"


def _nearest(name: str, names: Iterable[str]) -> str:
    matches = difflib.get_close_matches(name, list(names), n=1)
    return f": did you mean {matches[0]}?" if matches else f", expected one of {', '.join(names)}"
