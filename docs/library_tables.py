"""Table of stock libraries at each endpoint and on anvil, from the file in benches/results."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from result_files import headings, load_if_measured, missing, origin, row

_FILE = "libraries.json"
_COLUMNS = ("/", "/sealed", "/preconfirmed", "anvil")
_SCRIPTS = ("deploy", "allowance", "transfer")
_ONCE = ("replacement", "confirmations", "events")
_MODES = {"interval": "2 s", "automine": "automine"}

_Outcomes = Mapping[tuple[str, str, str, str], Mapping[str, Any]]


def script_flows() -> str:
    """Return the passed rounds of the script flows."""
    return _table(_SCRIPTS)


def once_flows() -> str:
    """Return the passed rounds of the flows that run once."""
    return _table(_ONCE)


def _table(flows: Sequence[str]) -> str:
    report = load_if_measured(_FILE)
    if not report:
        return missing(_FILE)
    outcomes = {(o["library"], o["mode"], o["endpoint"], o["flow"]): o for o in report["figures"]["outcomes"]}
    lines = [origin(report), "", *headings("library", "blocks", *(f"`{column}`" for column in _COLUMNS))]
    for library, version in report["figures"]["versions"].items():
        for mode, name in _MODES.items():
            cells = [_cell(outcomes, flows, (library, mode, column)) for column in _COLUMNS]
            if any(cells):
                lines.append(row(f"{library} {version}", name, *cells))
    return "\n".join(lines)


def _cell(outcomes: _Outcomes, flows: Sequence[str], place: tuple[str, str, str]) -> str:
    flow_outcomes = [outcomes.get((*place, flow)) for flow in flows]
    return (
        ", ".join("-" if each is None else f"{each['passed']}/{each['rounds']}" for each in flow_outcomes)
        if any(flow_outcomes)
        else ""
    )


PARTS: dict[str, Callable[[], str]] = {"library_scripts": script_flows, "library_once": once_flows}
