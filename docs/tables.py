"""Tables of the performance page, rendered from the files in benches/results."""

from collections.abc import Iterable, Mapping
from typing import Any

from result_files import headings, load, load_if_measured, missing, origin
from result_files import row as table_row

# Targets for the ratio to anvil at 16 connections: default transport, asgi transport.
_TARGETS: Mapping[str, tuple[float | None, float | None]] = {
    "blockNumber": (2, 0.5),
    "storage": (2, 0.5),
    "nonce latest": (2, 0.5),
    "nonce pending": (2, 0.5),
    "balance": (2, 0.5),
    "block latest": (1.7, 0.6),
    "block of 100, hashes": (4.5, 1.5),
    "block of 100, full": (200, 75),
    "receipts of 100": (18, 9),
    "one receipt": (2.8, 1),
    "logs: one block of 100": (3.5, 1.3),
    "logs: 100 blocks filtered": (5.5, 2),
    "logs: 100 blocks, all": (3.5, 2),
    "logs: 2,000 blocks filtered": (70, 35),
    "call": (2, 0.6),
    "estimate": (3, 1.2),
    "batch of 100 storage reads": (2.5, 0.8),
    "WebSocket request": (1.3, 0.4),
    "send, native": (3.5, 1.3),
    "send, ERC-20": (4, 1.3),
    "send, ERC-20 in batches of 100": (4, None),
}
_OTHERS = ("hardhat", "geth")


def compare() -> str:
    """Return the comparison with anvil: every row on both transports, at 16 connections unless a column says more."""
    report = load("compare.json")
    default = _transport(report, "foreseal")
    reads, again = _by_cell(report["reads"]), _by_cell(report["reads_after_restart"])
    lines = [
        origin(report),
        "",
        f"| row | anvil, /s | {default}: /s, us | ratio, target | after a restart | 1 and 64 connections "
        "| asgi: /s, us | ratio, target |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in dict.fromkeys(cell["row"] for cell in report["reads"]):
        native, asgi = reads[row, 16, "foreseal"], reads[row, 16, "foreseal-asgi"]
        target, asgi_target = _TARGETS.get(row, (None, None))
        others = ", ".join(_ratio(reads[row, count, "foreseal"]["ratio"]) for count in (1, 64))
        cells = [
            row,
            _rate(reads[row, 16, "anvil"]["requests_per_second"]),
            f"{_rate(native['requests_per_second'])}, {native['cpu_us_per_request']:.1f}",
            _against(native["ratio"], target),
            _ratio(again[row, 16, "foreseal"]["ratio"], target),
            others,
            f"{_rate(asgi['requests_per_second'])}, {asgi['cpu_us_per_request']:.0f}",
            _against(asgi["ratio"], asgi_target),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    sends = {(cell["row"], cell["node"]): cell for cell in report["sends"]}
    for row in dict.fromkeys(cell["row"] for cell in report["sends"]):
        native, asgi = sends[row, "foreseal"], sends[row, "foreseal-asgi"]
        target, asgi_target = _TARGETS.get(row, (None, None))
        cells = [
            row,
            _rate(sends[row, "anvil"]["transactions_per_second"]),
            f"{_rate(native['transactions_per_second'])}, {native['cpu_us_per_transaction']:.0f}",
            _against(native["ratio"], target),
            "",
            "",
            f"{_rate(asgi['transactions_per_second'])}, {asgi['cpu_us_per_transaction']:.0f}",
            _against(asgi["ratio"], asgi_target),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _transport(report: Mapping[str, Any], name: str) -> str:
    """Return the transport of a node; results of before it was recorded measured the native one as `foreseal`."""
    (node,) = (node for node in report["nodes"] if node["name"] == name)
    return str(node.get("transport", "native"))


def nodes() -> str:
    """Return start, notifications, receipts and memory of each node in the comparison with anvil."""
    report = load("compare.json")
    fanout = {cell["node"]: cell for cell in report["fanout"]}
    receipts = {cell["node"]: cell["receipt"] for cell in report["visibility"]}
    lines = [
        "| node | first answer | notification to one of 500 subscribers | submission to receipt: p50, p99 | resident |",
        "|---|---|---|---|---|",
    ]
    for node in report["nodes"]:
        name = node["name"]
        cells = [
            name,
            f"{_rate(node['start_ms'])} ms" if node.get("start_ms") else "",
            f"{fanout[name]['cpu_us_per_notification']:.1f} us",
            f"{receipts[name]['p50_ms']:.0f} ms, {receipts[name]['p99_ms']:.0f} ms",
            f"{_rate(node['resident_mb'])} MB",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def crates_and_packages() -> str:
    """Return the ratios of the core to crates (`core.json`) and of the Python codec to packages (`peers.json`)."""
    core, packages = load("core.json"), load("peers.json")
    lines = [origin(core), "", "| work | peer | Foreseal, us | peer, us | ratio |", "|---|---|---|---|---|"]
    for row in core["results"]:
        if row.get("peer"):
            cells = [row["name"], row["peer"], _micro(row["ns"] / 1000), _micro(row["peer_ns"] / 1000)]
            lines.append(f"| {' | '.join(cells)} | {_ratio(row['ratio'])} |")
    for row in packages["results"]:
        cells = [row["name"], row["peer"], _micro(row["foreseal_us"]), _micro(row["peer_us"])]
        lines.append(f"| {' | '.join(cells)} | {_ratio(row['ratio'])} |")
    return "\n".join(lines)


def steps() -> str:
    """Return the time of whole steps next to their limits, and of one step by part (`core.json`)."""
    core = load("core.json")
    lines = [origin(core), "", "| step | ms | limit, ms |", "|---|---|---|"]
    whole = [row for row in core["results"] if row["name"].startswith("step of")]
    lines += [f"| {row['name']} | {row['ns'] / 1e6:.1f} | {row['target_ns'] / 1e6:.0f} |" for row in whole]
    parts = core.get("step_parts", [])
    if parts:
        lines += ["", "| part of a step of 5,000 | processor, ms | elapsed, ms |", "|---|---|---|"]
    lines += [
        f"| {part['part']} | {part['processor_us'] / 1e3:.1f} | {part['elapsed_us'] / 1e3:.1f} |" for part in parts
    ]
    return "\n".join(lines)


def before_and_after() -> str:
    """Return rates at each number of connections before and after, and their ratio, from the run against anvil."""
    report = load("compare.json")
    cells = _by_cell(report["reads"])
    counts = report["extent"]["connections"]
    lines = headings("row", *(f"{count}: before, after, ratio" for count in counts))
    for name in dict.fromkeys(cell["row"] for cell in report["reads"]):
        pairs = ((cells[name, count, "before"], cells[name, count, "foreseal"]) for count in counts)
        lines.append(table_row(name, *(_change(*pair, "requests_per_second") for pair in pairs)))
    sends = {(cell["row"], cell["node"]): cell for cell in report["sends"]}
    for name in dict.fromkeys(cell["row"] for cell in report["sends"]):
        change = _change(sends[name, "before"], sends[name, "foreseal"], "transactions_per_second")
        lines.append(table_row(name, *("" if count != 16 else change for count in counts)))
    return "\n".join(lines)


def _change(before: Mapping[str, Any], after: Mapping[str, Any], rate: str) -> str:
    return f"{_rate(before[rate])}, {_rate(after[rate])}, {_ratio(after[rate] / before[rate])}"


def other_nodes() -> str:
    """Return the rates of hardhat and geth at 16 connections, and how many times as fast Foreseal is."""
    report = load("compare.json")
    cells = {
        (cell["row"], cell["node"]): cell["requests_per_second"]
        for cell in report["reads"]
        if cell["connections"] == 16
    }
    cells |= {(cell["row"], cell["node"]): cell["transactions_per_second"] for cell in report["sends"]}
    lines = headings("row", "Foreseal, /s", *(f"{name}: /s, ratio" for name in _OTHERS))
    for name in dict.fromkeys(name for name, _ in cells):
        ours = cells[name, "foreseal"]
        theirs = (cells.get((name, other)) for other in _OTHERS)
        lines.append(
            table_row(name, _rate(ours), *(f"{_rate(rate)}, {_ratio(ours / rate)}" if rate else "" for rate in theirs))
        )
    return "\n".join(lines)


def imports() -> str:
    """Return the rates of the import of chain files, per block size."""
    report = load_if_measured("import.json")
    if not report:
        return missing("import.json")
    lines = [
        origin(report),
        "",
        *headings("transfers", "per block", "transactions/s, target", "processor time of one, us"),
    ]
    names = {"native": "ether", "erc20": "ERC-20"}
    for each in report["results"]:
        rate, target = each["transactions_per_second"], report["target"]
        reached = _rate(rate) if rate >= target else f"**{_rate(rate)}**"
        cells = [names[each["transfer"]], _rate(each["transactions_per_block"])]
        cells += [f"{reached}, {_rate(target)}", f"{each['cpu_us_per_transaction']:.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _by_cell(cells: Iterable[dict[str, Any]]) -> dict[tuple[str, int, str], dict[str, Any]]:
    return {(cell["row"], cell["connections"], cell["node"]): cell for cell in cells}


def _micro(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def _rate(value: float) -> str:
    return f"{value:,.0f}"


def _ratio(value: float, target: float | None = None) -> str:
    text = f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"
    return f"**{text}**" if target is not None and value < target else text


def _against(value: float, target: float | None) -> str:
    return _ratio(value, target) if target is None else f"{_ratio(value, target)}, {target:g}"
