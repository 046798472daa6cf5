"""`foreseal bench`: compares nodes under the same load."""

import shlex
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from foreseal.bench.call_matrix import ROWS, Row
from foreseal.bench.chain_content import ContentShape
from foreseal.bench.errors import BenchError
from foreseal.bench.measurement import MeasurementPlan, connections
from foreseal.bench.node import BenchNode
from foreseal.bench.peers import KINDS, PeerProcess, PeerUnavailable, named
from foreseal.bench.perf import PerfSampler
from foreseal.bench.phases import Benchmark
from foreseal.bench.plan import PHASES, BenchmarkPlan, describe_plan
from foreseal.bench.profiler import Profiler
from foreseal.bench.progress import TimeEstimate
from foreseal.bench.provenance import read_provenance, save
from foreseal.bench.report import page
from foreseal.cli.bench_progress import show_bench_progress
from foreseal.cli.options import ParsedValue

_PACKAGES = ("granian", "orjson", "uvloop")
_COUNT = click.IntRange(min=1)
_EXAMPLES = """
\b
Examples:
  foreseal bench --start foreseal --start anvil --html report.html
  foreseal bench --node mine=http://127.0.0.1:8545 --phases reads --connections 16
  foreseal bench --seconds 0.2 --repetitions 3 --row call --row storage
"""


def _several(kind: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """Return a parser of comma-separated values."""

    def parse(text: str) -> tuple[Any, ...]:
        return tuple(kind(item.strip()) for item in text.split(","))

    return parse


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise ValueError(f"{text!r} must be a whole number, at least 1")
    return number


def _row(text: str) -> Row:
    for row in ROWS:
        if row.name == text:
            return row
    raise ValueError(f"unknown row {text!r}, expected one of: {'; '.join(row.name for row in ROWS)}")


def _phase(text: str) -> str:
    if text not in PHASES:
        raise ValueError(f"unknown phase {text!r}, expected one of: {', '.join(PHASES)}")
    return text


@click.command("bench", epilog=_EXAMPLES)
@click.option(
    "--node", "nodes", multiple=True, type=ParsedValue("NAME=URL", named), help="Running node to measure; repeatable."
)
@click.option(
    "--start",
    multiple=True,
    type=click.Choice(list(KINDS)),
    metavar="NODE",
    help=f"Node to start, if it is installed: {', '.join(KINDS)}; repeatable.  "
    "[default: foreseal, unless --node is given]",
)
@click.option("--peer", metavar="NAME", help="Baseline node of the ratios.  [default: the last one]")
@click.option(
    "--blocks", type=_COUNT, metavar="N", default=2_100, show_default=True, help="Blocks imported by every node."
)
@click.option(
    "--dense",
    type=_COUNT,
    metavar="N",
    default=50,
    show_default=True,
    help="Number of blocks with 100 token transfers each.",
)
@click.option(
    "--connections",
    type=ParsedValue("N,N,...", _several(_positive)),
    default="1,16,64",
    show_default=True,
    help="Numbers of concurrent connections.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0.05),
    metavar="SECONDS",
    default=1.0,
    show_default=True,
    help="Duration of a run.",
)
@click.option(
    "--repetitions",
    type=_COUNT,
    metavar="N",
    default=5,
    show_default=True,
    help="Runs per measurement; the median is reported.",
)
@click.option(
    "--seed", type=int, metavar="N", default=1, show_default=True, help="Random seed for the order of the runs."
)
@click.option(
    "--row",
    "rows",
    multiple=True,
    type=ParsedValue("ROW", _row),
    help="Kind of call to measure, such as call or storage; repeatable. An unknown name lists all.  [default: all]",
)
@click.option(
    "--phases",
    type=ParsedValue("PHASE,...", _several(_phase)),
    default=",".join(PHASES),
    show_default=True,
    help="Phases to run.",
)
@click.option(
    "--transactions",
    type=_COUNT,
    metavar="N",
    default=20_000,
    show_default=True,
    help="Transactions sent by each method.",
)
@click.option(
    "--samples",
    type=_COUNT,
    metavar="N",
    default=100,
    show_default=True,
    help="Transactions whose visibility is measured.",
)
@click.option(
    "--subscribers", type=_COUNT, metavar="N", default=500, show_default=True, help="Number of WebSocket subscribers."
)
@click.option(
    "--scale",
    type=ParsedValue("BLOCKS,...", _several(_positive)),
    default=None,
    help="Also measure chains of these lengths in blocks, such as 1000,10000,100000,1000000.",
)
@click.option(
    "--json", "saved", type=click.Path(dir_okay=False, path_type=Path), help="Write the results to this file as JSON."
)
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a report to this file as HTML.")
@click.option(
    "--profile",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="After the measured runs, run each row once more and save a flame graph of each node in this folder, as "
    "ROW.NODE.svg. Needs the program perf.",
)
def bench_command(nodes: tuple[BenchNode, ...], start: tuple[str, ...], peer: str | None, **options: Any) -> None:
    """Measure nodes under the same load, in one interleaved run, and compare them.

    Every node gets the same blocks and must return the same responses: a difference is an error. Nodes given by --node
    must be new development chains; the command writes to them. With the defaults, a run takes about a quarter of an
    hour per node.

    \b
    Phases:
      reads    requests a second of each row, each connection with one request at a time
      open     latency of each row at one rate for all nodes
      send     transactions a second until included
      visible  time until others see a transaction
      fanout   cost of a notification to many subscribers
      restart  the reads again, after a restart of the nodes that the command started
    """
    for name in ("json", "html", "profile"):
        file = options["saved" if name == "json" else name]
        if file is not None and not file.absolute().parent.is_dir():
            raise click.UsageError(f"--{name}: {file}: folder {file.parent} does not exist")
    if "restart" in options["phases"] and not {"reads", "open"} & set(options["phases"]):
        raise click.UsageError("--phases: restart repeats the reads: add reads")
    profiler = _profiler(options)
    with ExitStack() as stack:
        for node in nodes:
            stack.callback(node.close)
        started = [_start(kind, stack) for kind in start or (() if nodes else ("foreseal",))]
        running = [process for process in started if process is not None]
        measured = [*nodes, *(process.node for process in running if process.node is not None)]
        names = [node.name for node in measured]
        if len(set(names)) < len(names) or not names:
            raise click.UsageError(f"--node, --start: {'node names must be unique' if names else 'no node to measure'}")
        if peer is not None and peer not in names and peer not in start:
            raise click.UsageError(f"--peer: unknown node {peer!r}, expected one of: {', '.join(names)}")
        reference = peer if peer in names else names[-1]
        bench = Benchmark(_plan(options, reference), measured, running, profiler)
        try:
            with show_bench_progress(TimeEstimate(bench.expected_seconds())) as show:
                results = bench.run(show)
        except BenchError as error:
            raise click.ClickException(str(error)) from None
    report = read_provenance(shlex.join(["foreseal", *sys.argv[1:]]), _PACKAGES) | describe_plan(bench.plan) | results
    click.echo(f"foreseal: us: processor time of the node per request; x: ratio to {reference}", err=True)
    _show(report)
    if options["saved"]:
        save(report, options["saved"])
    if options["html"]:
        options["html"].write_text(page(report))


def _profiler(options: dict[str, Any]) -> Profiler | None:
    folder = options["profile"]
    if folder is None:
        return None
    if not {"reads", "open", "send"} & set(options["phases"]):
        raise click.UsageError("--profile: --phases must contain reads, open or send, whose rows are profiled")
    try:
        return Profiler(folder, PerfSampler())
    except BenchError as error:
        raise click.ClickException(f"--profile: {error}") from None


def _start(kind: str, stack: ExitStack) -> PeerProcess | None:
    try:
        started = KINDS[kind]()
    except PeerUnavailable as absent:
        click.echo(f"foreseal: skipping {kind}: {absent}", err=True)
        return None
    stack.callback(started.close)
    try:
        started.start()
    except BenchError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"foreseal: started {kind} in {started.start_ms / 1000:.1f} s", err=True)
    return started


def _plan(options: dict[str, Any], peer: str) -> BenchmarkPlan:
    try:
        shape = ContentShape(options["blocks"], options["dense"])
    except ValueError as error:
        raise click.UsageError(f"--blocks, --dense: {error}") from None
    extent = MeasurementPlan(options["connections"], options["seconds"], options["repetitions"], options["seed"])
    sizes = tuple(sorted(options["scale"] or ()))
    if sizes and sizes[0] < 1_000:
        raise click.UsageError("--scale: chains must have at least 1,000 blocks")
    return BenchmarkPlan(
        shape=shape,
        extent=extent,
        rows=options["rows"] or tuple(ROWS),
        phases=frozenset(options["phases"]),
        transactions=options["transactions"],
        samples=options["samples"],
        subscribers=options["subscribers"],
        sizes=sizes,
        peer=peer,
    )


def _rate(cell: dict[str, Any]) -> str:
    """Return rate, processor time and ratio of a row in columns."""
    cpu = "" if cell["cpu_us_per_request"] is None else f"  {cell['cpu_us_per_request']:>9,.1f} us"
    ratio = "" if cell["ratio"] is None else f"  x{cell['ratio']:g}"
    return f"{cell['requests_per_second']:>12,.0f} /s{cpu}{ratio}"


def _show(report: dict[str, Any]) -> None:
    """Print the figures as lines."""
    for node in report["nodes"]:
        transport = f", transport {node['transport']}" if node["transport"] else ""
        click.echo(f"{'node':<46} {node['name']:<18} {node['version']}{transport}")
    for row in report["generator"]:
        name = f"generator, {row['transport']}, {connections(row['connections'])}"
        click.echo(f"{name:<46} {row['requests_per_second']:>12,} /s")
    for key in ("reads", "reads_after_restart"):
        for cell in report.get(key, ()):
            name = f"{cell['row']}, {cell['connections']}{', restarted' if key != 'reads' else ''}"
            click.echo(f"{name:<46} {cell['node']:<18} {_rate(cell)}")
    for cell in report.get("open_loop", ()):
        name = f"{cell['row']}, {cell['offered_per_second']:,.0f} /s offered"
        delays = f"p50 {cell['latency']['p50_ms']:g} ms, p99 {cell['latency']['p99_ms']:g} ms"
        late = f", {cell['unanswered']:,} unanswered" if cell["unanswered"] else ""
        click.echo(f"{name:<46} {cell['node']:<18} {delays}{late}")
    for row in report.get("sends", ()):
        cell = {
            "requests_per_second": row["transactions_per_second"],
            "cpu_us_per_request": row["cpu_us_per_transaction"],
        }
        click.echo(f"{row['row']:<46} {row['node']:<18} {_rate(row | cell)}")
    for row in report.get("visibility", ()):
        delays = f"p50 {row['receipt']['p50_ms']:g} ms, p99 {row['receipt']['p99_ms']:g} ms"
        click.echo(f"{'visible, receipt':<46} {row['node']:<18} {delays}")
    for row in report.get("fanout", ()):
        name = f"notification, {row['subscribers']} subscribers"
        cost = row["cpu_us_per_notification"]
        click.echo(f"{name:<46} {row['node']:<18} {'not measurable' if cost is None else f'{cost:g} us'}")
    for row in report.get("scale", ()):
        name = f"{row['row']}, {row['connections']}, {row['blocks']:,} blocks"
        cpu, times = row["cpu_us_per_request"], row["cpu_to_shortest"]
        cost = "" if cpu is None else f"  {cpu:>9,.1f} us" + ("" if times is None else f"  x{times:g}")
        click.echo(f"{name:<46} {row['node']:<18} {row['requests_per_second']:>12,.0f} /s{cost}")
    for profile in report.get("profiles", ()):
        name = f"profile, {profile['row']}, {profile['connections']}"
        click.echo(f"{name:<46} {profile['node']:<18} {profile['samples']:>12,} samples  {profile['file']}")
    for missing in report.get("missing", ()):
        click.echo(f"{missing['row']:<46} {missing['node']:<18} unavailable: {missing['why']}")
