"""Generator of the parts of docs/ that come from the code and from benches/results; `--check` only lists stale pages.

A generated part is between `<!-- made by NAME -->` and `<!-- end -->`. The text around it is not changed.
"""

import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import capacity_tables
import cluster_tables
import library_tables
import opcode_tables
import orjson
import scale_tables
import start_tables
import tables
import yaml

from foreseal._core import openrpc
from foreseal.rpc.call_costs import COSTS
from foreseal.server.metrics import FAMILIES
from foreseal.server.settings import TABLE, Setting
from foreseal.server.settings import Settings as SettingsOfNode
from foreseal.server.settings.groups import GROUPS, grouped
from foreseal.server.settings.kinds import Flag, in_toml
from foreseal.server.settings.limit_rows import FIXED_LIMITS, LIMITS
from foreseal.server.settings.model import default_value
from foreseal.server.settings.public_limits import PUBLIC_SHARES, lower_limits
from foreseal.server.settings.setting import COMMANDS

DOCS = Path(__file__).resolve().parent
# A label or the value, which Prometheus inserts into an annotation.
_TEMPLATE = re.compile(r"\{\{ \$(?:labels\.)?(\w+).*?\}\}")
_ALERT = re.compile(r"\bForeseal[A-Z]\w+")
_ITEM = re.compile(r"\n(?=\* |\d+\. )")
_MARK = re.compile(r"(?:\*|\d+\.) ")
# Limits in bytes, by the end of their name.
_BYTES = "body", "response", "_bytes"
_MIB = 1 << 20
_METHOD = re.compile(r"\b((?:eth|txpool|foreseal)_\w+)")


def settings() -> str:
    """Return the tables of settings, one for each group of the help texts."""
    return "\n".join(line for group, rows in grouped().items() for line in _group(group, rows))


def _group(group: str, rows: list[Setting]) -> Iterator[str]:
    yield f"### {group}\n\n{GROUPS[group]}\n"
    yield "| section and key | option | variable | default | meaning |\n|---|---|---|---|---|"
    for setting in rows:
        section, _, key = setting.key.partition(".")
        cells = (
            f"`[{section}]` `{key}`",
            _option(setting),
            f"`{setting.variable}`",
            _default(setting),
            _meaning(setting),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def _option(setting: Setting) -> str:
    if not setting.commands.intersection(("dev", "run")):
        return ""
    if isinstance(setting.kind, Flag):
        return f"`{setting.flag}`, `--no-{setting.flag.removeprefix('--')}`"
    return f"`{setting.flag}`"


def _default(setting: Setting) -> str:
    value = default_value(setting)
    if setting.unset:
        return setting.unset
    return f"`{str(in_toml(setting.kind.plain(value))).strip(chr(34))}`"


def _meaning(setting: Setting) -> str:
    words = _METHOD.sub(r"`\1`", setting.help.replace("`", ""))
    commands = [f"`{COMMANDS[name]}`" if name != "app" else COMMANDS[name] for name in COMMANDS]
    here = [words for name, words in zip(COMMANDS, commands, strict=True) if name in setting.commands]
    alone = f"For {' and '.join(here)} alone." if len(here) < len(COMMANDS) else ""
    return " ".join(part for part in (words, setting.more, alone) if part)


def limits() -> str:
    """Return the table of limits: its value for all callers, its share and value for public ones, and its setting."""
    node = SettingsOfNode(Path())
    rows = [*LIMITS, *(limit.row for limit in FIXED_LIMITS)]
    lines = ["| limit | meaning | all callers | public callers | share | setting |", "|---|---|---|---|---|---|"]
    for row in rows:
        part, _, name = row.path.partition(".")
        value = getattr(getattr(node, part), name)
        tier = lower_limits(getattr(node, part), getattr(node, f"public_{part}"))
        own = f"public.{name}"
        setting = f"`{row.flag}`" if row.key in TABLE else ""
        cells = (
            f"`{name}`",
            " ".join(filter(None, (_METHOD.sub(r"`\1`", row.help), row.more))),
            _limit_value(row, value),
            _limit_value(row, getattr(tier, name)),
            str(PUBLIC_SHARES.get(name, "")),
            ", ".join(filter(None, (setting, f"`{TABLE[own].flag}`" if own in TABLE else ""))),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _limit_value(row: Setting, value: int | None) -> str:
    if value is None:
        return row.unset
    if row.path.endswith(_BYTES) and value >= _MIB:
        return f"{value // _MIB} MiB"
    plain = row.kind.plain(value)
    return f"{plain:,}" if isinstance(plain, int) else str(plain)


def metrics() -> str:
    """Return the table of metrics."""
    lines = ["| name | kind | labels | is |", "|---|---|---|---|"]
    for family in FAMILIES:
        labels = ", ".join(f"`{label}`" for label in family.labels)
        lines.append(f"| `{family.name}` | {family.kind} | {labels} | {family.help} |")
    return "\n".join(lines)


def costs() -> str:
    """Return the table of rate-limiter costs per method."""
    by_cost: dict[int, list[str]] = {}
    for method, cost in COSTS.items():
        by_cost.setdefault(cost, []).append(f"`{method}`")
    lines = [f"| {cost} | {', '.join(methods)} |" for cost, methods in sorted(by_cost.items())]
    return "\n".join(["| cost | methods |", "|---|---|", *lines, "| 1 | all others |"])


def _rules() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the name of each file of alert rules with its rules."""
    for file in sorted((DOCS.parent / "deploy" / "prometheus").glob("*.rules.yml")):
        yield file.name, [rule for group in yaml.safe_load(file.read_text())["groups"] for rule in group["rules"]]


def alerts() -> str:
    """Return the index of alerts, one row for each file of rules."""
    severities = ("critical", "warning", "info")
    lines = [f"| rules | {' | '.join(severities)} |", "|---|---|---|---|"]
    for file, rules in _rules():
        cells = [
            ", ".join(_alert_link(rule["alert"]) for rule in rules if rule["labels"]["severity"] == severity)
            for severity in severities
        ]
        lines.append(f"| `{file}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def runbooks() -> str:
    """Return the section of each alert: severity, expression, and the text of its annotations."""
    return "\n\n".join(part for file, rules in _rules() for rule in rules for part in _runbook(file, rule))


def _runbook(file: str, rule: dict[str, Any]) -> Iterator[str]:
    notes = rule["annotations"]
    fires = f"after {rule['for']}" if "for" in rule else "at once"
    yield f"## {rule['alert']}"
    yield f"Severity **{rule['labels']['severity']}**, fires {fires}, in `{file}`:"
    yield f"```promql\n{rule['expr'].strip()}\n```"
    yield _annotation(_TEMPLATE.sub(r"`\1`", f"{notes['summary']} {notes['description']}"))
    yield f"**Likely causes**\n\n{_annotation(notes['likely_causes'])}"
    yield f"**First commands**\n\n```text\n{notes['first_commands'].strip()}\n```"
    yield f"**Resolution**\n\n{_annotation(notes['resolution'])}"


def _annotation(text: str) -> str:
    """Return a paragraph or list of an annotation, with links of this page and wrapped."""
    lines = []
    for item in _ITEM.split(text.strip()):
        words = _ALERT.sub(lambda match: _alert_link(match[0]), item)
        words = words.replace("](docs/operate/", "](").replace("](docs/", "](../")
        mark = _MARK.match(item)
        indent = " " * len(mark[0]) if mark else ""
        lines += textwrap.wrap(
            " ".join(words.split()), 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
    return "\n".join(lines)


def _alert_link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


_FOR = {
    "everyone": "For everyone",
    "admin": "On the admin listener alone",
    "development": "On development nodes alone",
}


def methods() -> str:
    """Return the tables of methods, one for each kind of caller, and the table of parameter types."""
    document = orjson.loads(openrpc())
    lines = []
    for access, title in _FOR.items():
        lines.append(f"## {title}\n")
        lines.append("| method | parameters | result | runs | cost | limits | errors |\n|---|---|---|---|---|---|---|")
        rows = [_method(each) for each in document["methods"] if each["x-access"] == access]
        lines += [*sorted(rows), ""]
    lines.append("## Types of parameters\n\n| type | what it takes |\n|---|---|")
    for name, schema in sorted(document["components"]["schemas"].items()):
        if "description" in schema:
            lines.append(f"| `{name}` | {schema['description']} |")
    return "\n".join(lines)


def _method(method: dict[str, Any]) -> str:
    errors = [f"{error['code']} {error['message']}" for error in method["errors"] if error["code"] not in _GENERAL]
    limits = [f"`{name}`" for name in method["x-limits"]]
    cells = [
        f"`{method['name']}`",
        ", ".join(_parameter(each) for each in method["params"]),
        method["result"]["description"],
        method["x-runs"],
        str(COSTS.get(method["name"], 1)),
        ", ".join(limits),
        "; ".join(errors),
    ]
    return f"| {' | '.join(cells)} |"


# Codes of the errors that any method may return. The page lists them once, above the tables.
_GENERAL = {-32002, -32005, -32601, -32602, -32603}


def _parameter(parameter: dict[str, Any]) -> str:
    kind = parameter["schema"]["$ref"].rpartition("/")[2]
    words = f"{parameter['name']}: `{kind}`"
    if parameter["required"]:
        return words
    return f"[{words} = {parameter['description'].removeprefix('left out: ')}]"


def errors() -> str:
    """Return the table of errors that single methods return, by code."""
    methods_of: dict[tuple[int, str], list[str]] = {}
    for method in orjson.loads(openrpc())["methods"]:
        for error in method["errors"]:
            if error["code"] not in _GENERAL:
                methods_of.setdefault((error["code"], error["message"]), []).append(f"`{method['name']}`")
    lines = ["| code | meaning | methods |", "|---|---|---|"]
    for (code, message), names in sorted(methods_of.items(), reverse=True):
        lines.append(f"| {code} | {message} | {', '.join(sorted(names))} |")
    return "\n".join(lines)


def subscriptions() -> str:
    """Return the table of the streams of `eth_subscribe`."""
    (method,) = (each for each in orjson.loads(openrpc())["methods"] if each["name"] == "eth_subscribe")
    lines = ["| stream | options | one message for each |", "|---|---|---|"]
    for row in method["x-subscriptions"]:
        options = f"[`{row['options']}` = {row['leftOut']}]" if "options" in row else ""
        lines.append(f"| `{row['name']}` | {options} | {row['gives']} |")
    return "\n".join(lines)


# Crates outside the product: drawn nowhere, listed in the table.
_OUTSIDE = {"foreseal-benches", "foreseal-fuzz"}


def crates() -> str:
    """Return the graph of the crates as a mermaid diagram, without edges that follow from others, and their table."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    output = subprocess.run(command, cwd=DOCS.parent, capture_output=True, check=True).stdout  # noqa: S603
    packages = {each["name"]: each for each in json.loads(output)["packages"] if each["name"] not in _OUTSIDE}
    uses = {
        name: {each["name"] for each in package["dependencies"] if each["kind"] is None and each["name"] in packages}
        for name, package in packages.items()
    }
    lines = ["```mermaid", "graph TD"]
    for name in sorted(uses):
        implied = {below for used in uses[name] for below in _all_below(used, uses)}
        lines += [f"    {_short(name)} --> {_short(used)}" for used in sorted(uses[name] - implied)]
    lines += ["```", "", "| crate | content |", "|---|---|"]
    for _, package in sorted(packages.items()):
        folder = Path(package["manifest_path"]).parent.relative_to(DOCS.parent)
        lines.append(f"| `{folder}` | {package['description']} |")
    return "\n".join(lines)


def _short(name: str) -> str:
    return name.removeprefix("foreseal-")


def _all_below(name: str, uses: dict[str, set[str]]) -> set[str]:
    return uses[name] | {below for used in uses[name] for below in _all_below(used, uses)}


PARTS: dict[str, Callable[[], str]] = {
    "settings": settings,
    "metrics": metrics,
    "alerts": alerts,
    "runbooks": runbooks,
    "costs": costs,
    "limits": limits,
    "methods": methods,
    "errors": errors,
    "subscriptions": subscriptions,
    "crates": crates,
    "compare": tables.compare,
    "scale_tree": scale_tables.tree,
    "scale_regions": scale_tables.regions,
    **cluster_tables.PARTS,
    **capacity_tables.PARTS,
    **library_tables.PARTS,
    **opcode_tables.PARTS,
    "nodes": tables.nodes,
    "crates_and_packages": tables.crates_and_packages,
    "steps": tables.steps,
    "before_and_after": tables.before_and_after,
    "other_nodes": tables.other_nodes,
    "start_figures": start_tables.start_figures,
    "imports": tables.imports,
}
"""Renderer of each part, by the name of the part."""


def rendered(text: str) -> str:
    """Return a page with all its parts rendered from the code."""

    def made(match: re.Match[str]) -> str:
        return f"{match[1]}\n\n{PARTS[match[2]]().strip()}\n\n{match[3]}"

    return re.sub(r"(<!-- made by (\w+) -->).*?(<!-- end -->)", made, text, flags=re.DOTALL)


def main() -> int:
    """Render every page. Return 1 if `--check` finds a stale one, otherwise 0."""
    stale = []
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text()
        new = rendered(text)
        if new != text:
            stale.append(str(page.relative_to(DOCS)))
            if "--check" not in sys.argv:
                page.write_text(new)
    for name in stale:
        print(
            f"docs/{name} is not what the code says: `make docs`" if "--check" in sys.argv else f"docs/{name} written"
        )
    return int("--check" in sys.argv and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
