"""Template of `pay.toml`: every key with its meaning. Keys that have a default are commented out."""

from collections.abc import Iterator
from typing import get_origin

import orjson
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from foreseal.payments.configuration.file import FileContent
from foreseal.payments.validation import models

# Among alternative keys, the one that a new file sets.
_CHOSEN = {"payee.key_file"}
# Examples of keys that have another example in a section of their own.
_EXAMPLES = {
    "destinations.token.address": "0xA51c1fc2f0D1a1b8494Ed1FE312d7C3a78Ed91C0",
    "destinations.payee.key_file": "branch-2.key",
}
# Sections that a merchant does not need.
_OPTIONAL = {"checkout", "destinations", "facilitator", "merchant", "webhooks"}


def template() -> str:
    """Return the text of a new `pay.toml`."""
    lines = [
        "# Configuration of `foreseal pay`. Amounts are in smallest units; paths are relative to the working directory."
    ]
    for name, field in FileContent.model_fields.items():
        heading = f"[[{name}]]" if get_origin(field.annotation) is tuple else f"[{name}]"
        section = next(models(field.annotation))
        lines += ["", *_section(name, section, heading, "# " if name in _OPTIONAL else "")]
    return "\n".join(lines) + "\n"


def _section(name: str, section: type[BaseModel], heading: str, comment: str) -> Iterator[str]:
    yield f"# {(section.__doc__ or '').splitlines()[0]}"
    yield f"{comment}{heading}"
    nested = {key: next(models(field.annotation), None) for key, field in section.model_fields.items()}
    for key, field in section.model_fields.items():
        if nested[key] is not None:
            continue
        optional = not field.is_required() and f"{name}.{key}" not in _CHOSEN
        yield f"# {field.description}"
        value = _EXAMPLES.get(f"{name}.{key}", _shown(field))
        yield f"{'# ' if optional or comment else ''}{key} = {orjson.dumps(value).decode()}"
    for key, model in nested.items():  # a table ends with the next heading, so its sections come last
        if model is not None:
            yield from ("", *_section(f"{name}.{key}", model, f"[{name}.{key}]", comment))


def _shown(field: FieldInfo) -> object:
    """Return the example of a key, or its default, as TOML has it."""
    if field.examples:
        return field.examples[0]
    match field.default:
        case str(host), int(port):
            return f"{host}:{port}"
        case default:
            return default
