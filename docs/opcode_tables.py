"""Table of opcodes and precompiled contracts next to geth, from the file in benches/results."""

from collections.abc import Callable, Mapping
from typing import Any

from result_files import headings, load_if_measured, missing, origin, row

_FILE = "opcodes.json"


def opcodes() -> str:
    """Return the slowest rows, and those that miss a target."""
    report = load_if_measured(_FILE)
    if not report:
        return missing(_FILE)
    rows = report["rows"]
    shown = list(dict.fromkeys([*report["slowest"], *report["below_min_mgas_s"], *report["below_geth"]]))
    by_name = {each["name"]: each for each in rows}
    lines = [
        origin(report),
        "",
        f"{len(rows)} rows, up to {report['rounds']} rounds of {report['gas'] / 1e6:g}M gas. "
        f"Rows below 60M gas/s: {len(report['below_min_mgas_s'])}; below geth {report['geth']}: "
        f"{len(report['below_geth'])}.",
        "",
        *headings("row", "M gas/s", "geth, M gas/s", "ratio"),
    ]
    return "\n".join([*lines, *(_cells(by_name[name]) for name in shown)])


def _cells(figures: Mapping[str, Any]) -> str:
    """Return the row of a program; figures that miss their target are bold."""
    speed = _bold(f"{figures['ours_mgas_s']:,.1f}", is_missed=figures["ours_mgas_s"] < 60)
    if figures["ratio"] is None:
        return row(figures["name"], speed, "", "")
    ratio = _bold(f"{figures['ratio']:.2f}", is_missed=figures["ratio"] < 1)
    return row(figures["name"], speed, f"{figures['geth_mgas_s']:,.1f}", ratio)


def _bold(text: str, *, is_missed: bool) -> str:
    return f"**{text}**" if is_missed else text


PARTS: dict[str, Callable[[], str]] = {"opcodes": opcodes}
