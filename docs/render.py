"""Writes the parts of docs/ that are made from the code; `--check` only says which are not as the code has them.

A part stands between `<!-- made by NAME -->` and `<!-- end -->`; everything around it is written by hand.
"""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from foreseal.rpc.costs import COSTS
from foreseal.server.settings import SECTIONS, TABLE, Setting
from foreseal.server.settings.kinds import Flag, in_toml
from foreseal.server.settings.model import default_of
from foreseal.server.settings.setting import COMMANDS

DOCS = Path(__file__).resolve().parent
_METHOD = re.compile(r"\b((?:eth|txpool|foreseal)_\w+)")


def settings() -> str:
    """The tables of settings, one for each section of a file."""
    return "\n".join(line for section, about in SECTIONS.items() for line in _section(section, about))


def _section(section: str, about: str) -> Iterator[str]:
    yield f"### `[{section}]`\n\n{about}\n"
    yield "| key | option | variable | default | meaning |\n|---|---|---|---|---|"
    for setting in TABLE.values():
        if setting.section == section:
            key = setting.key.partition(".")[2]
            yield f"| `{key}` | {_option(setting)} | `{setting.variable}` | {_default(setting)} | {_meaning(setting)} |"
    yield ""


def _option(setting: Setting) -> str:
    if not setting.commands.intersection(("dev", "run")):
        return ""
    if isinstance(setting.kind, Flag):
        return f"`{setting.flag}`, `--no-{setting.flag.removeprefix('--')}`"
    return f"`{setting.flag}`"


def _default(setting: Setting) -> str:
    value = default_of(setting)
    if setting.unset:
        return setting.unset
    return f"`{str(in_toml(setting.kind.plain(value))).strip(chr(34))}`"


def _meaning(setting: Setting) -> str:
    words = _METHOD.sub(r"`\1`", setting.help.replace("`", ""))
    commands = [f"`{COMMANDS[name]}`" if name != "app" else COMMANDS[name] for name in COMMANDS]
    here = [words for name, words in zip(COMMANDS, commands, strict=True) if name in setting.commands]
    alone = f"For {' and '.join(here)} alone." if len(here) < len(COMMANDS) else ""
    return " ".join(part for part in (words, setting.more, alone) if part)


def costs() -> str:
    """What calls take out of a bucket."""
    by_cost: dict[int, list[str]] = {}
    for method, cost in COSTS.items():
        by_cost.setdefault(cost, []).append(f"`{method}`")
    lines = [f"| {cost} | {', '.join(methods)} |" for cost, methods in sorted(by_cost.items())]
    return "\n".join(["| cost | methods |", "|---|---|", *lines, "| 1 | all others |"])


PARTS: dict[str, Callable[[], str]] = {"settings": settings, "costs": costs}
"""What makes each part."""


def rendered(text: str) -> str:
    """A page with all its parts made anew."""

    def made(match: re.Match[str]) -> str:
        return f"{match[1]}\n\n{PARTS[match[2]]().strip()}\n\n{match[3]}"

    return re.sub(r"(<!-- made by (\w+) -->).*?(<!-- end -->)", made, text, flags=re.DOTALL)


def main() -> int:
    """Render every page; 1 if `--check` finds one that is not as it should be."""
    stale = []
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text()
        new = rendered(text)
        if new != text:
            stale.append(page.name)
            if "--check" not in sys.argv:
                page.write_text(new)
    for name in stale:
        print(
            f"docs/{name} is not what the code says: `make docs`" if "--check" in sys.argv else f"docs/{name} written"
        )
    return int("--check" in sys.argv and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
