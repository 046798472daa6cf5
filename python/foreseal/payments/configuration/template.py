"""Template of `pay.toml`: every key with its meaning. Keys that have a default are commented out."""

from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any

import orjson

from foreseal.payments.configuration.file import LISTS, SECTIONS
from foreseal.payments.configuration.keys import described

# Among alternative keys, the one that a new file sets.
_CHOSEN = {"payee.key_file"}
# Sections that a merchant does not need.
_OPTIONAL = {"facilitator"}
_EXAMPLES = {
    "facilitator.key_file": "facilitator.key",
    "facilitator.key_env": "FACILITATOR_KEY",
    "facilitator.payees": ["0x90F79bf6EB2c4f870365E785982E1f101E93b906"],
    "serve.checkout": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
    "serve.payouts": "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512",
    "serve.webhook_networks": ["10.20.0.0/16"],
    "webhooks.events": ["order.captured", "refund.completed"],
    "webhooks.secret_file": "webhook.secret",
    "webhooks.secret_env": "HOOK_SECRET",
}


def template() -> str:
    """Return the text of a new `pay.toml`."""
    lines = [
        "# Configuration of `foreseal pay`. Amounts are in smallest units; paths are relative to the working directory."
    ]
    for name, kind in SECTIONS.items():
        lines += ["", *_section(name, kind, f"[{name}]", "# " if name in _OPTIONAL else "")]
    for name, kind in LISTS.items():
        lines += ["", *_section(name, kind, f"[[{name}]]", "# ")]
    return "\n".join(lines) + "\n"


def _section(name: str, kind: type[Any], heading: str, comment: str) -> Iterator[str]:
    yield f"# {(kind.__doc__ or '').splitlines()[0]}"
    yield f"{comment}{heading}"
    for field in fields(kind):
        key, path = described(field.metadata), f"{name}.{field.name}"
        default = _default(field.default)
        shown = _EXAMPLES.get(path, key.kind.example if default is None else default)
        optional = field.default is not MISSING and path not in _CHOSEN
        yield f"# {key.meaning}"
        yield f"{'# ' if optional or comment else ''}{field.name} = {orjson.dumps(shown).decode()}"


def _default(default: Any) -> Any:
    """Return a default as TOML has it, or None if the template shows an example instead."""
    match default:
        case str(host), int(port):
            return f"{host}:{port}"
        case str() | int():
            return default
        case _:
            return None
