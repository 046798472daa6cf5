"""`foreseal bench`: compares nodes under the same load."""

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from foreseal.bench.call_matrix import ROWS, Row
from foreseal.bench.chain_content import ContentShape
from foreseal.bench.errors import BenchError
from foreseal.bench.measurement import MeasurementPlan
from foreseal.bench.peers import KINDS, PeerProcess, PeerUnavailable, named
from foreseal.bench.phases import Benchmark
from foreseal.bench.plan import PHASES, BenchmarkPlan, describe_plan
from foreseal.bench.progress import TimeEstimate
from foreseal.bench.provenance import read_provenance, save
from foreseal.bench.report import page
from foreseal.cli.bench_lines import show_report
from foreseal.cli.bench_progress import show_bench_progress
from foreseal.cli.options import ParsedValue
from foreseal.cli.removed_options import RemovedOptionsCommand

_PACKAGES = ("granian", "orjson", "uvloop")
_COUNT = click.IntRange(min=1)
_REMOVED = {
    "--profile": "saves flame graphs",
    "--scale": "measures chains of several lengths",
}
"""Options of earlier versions, with their effect in the command of a clone."""
_EXAMPLES = """
\b
Examples:
  foreseal bench --start foreseal --start anvil --html report.html
  foreseal bench --node mine=http://127.0.0.1:8545 --phases reads --connections 16
  foreseal bench --seconds 0.2 --repetitions 3 --row call --row storage
"""


def comma_separated(kind: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """Return a parser of comma-separated values."""

    def parse(text: str) -> tuple[Any, ...]:
        return tuple(kind(item.strip()) for item in text.split(","))

    return parse


def positive(text: str) -> int:
    """Return a whole number that is at least 1. Raise ValueError."""
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


class BenchCommand(RemovedOptionsCommand):
    """The command, whose former options `benches.compare` has."""

    def describe_removed(self, option: str) -> str | None:
        """Return the error for a former option; None for any other name."""
        effect = _REMOVED.get(option)
        return effect and f"{option} was removed: in a clone of Foreseal, `python -m benches.compare` {effect}"


@click.command("bench", cls=BenchCommand, epilog=_EXAMPLES)
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
    type=ParsedValue("N,N,...", comma_separated(positive)),
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
    type=ParsedValue("PHASE,...", comma_separated(_phase)),
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
    "--json", "saved", type=click.Path(dir_okay=False, path_type=Path), help="Write the results to this file as JSON."
)
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a report to this file as HTML.")
def bench_command(**options: Any) -> None:
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
    check_options(options)
    with prepared_benchmark(options) as bench, show_bench_progress(TimeEstimate(bench.expected_seconds())) as show:
        bench.measure(bench.fill(show), show)
    report = describe_results(bench, ["foreseal", *sys.argv[1:]])
    show_report(report)
    save_report(report, options, page)


def save_report(report: dict[str, Any], options: dict[str, Any], draw: Callable[[dict[str, Any]], str]) -> None:
    """Write the report to the files of the options, as JSON and as a page that `draw` returns."""
    if options["saved"]:
        save(report, options["saved"])
    if options["html"]:
        options["html"].write_text(draw(report))


def check_options(options: dict[str, Any]) -> None:
    """Raise a usage error for options that do not fit together."""
    for flag, file in (("--json", options["saved"]), ("--html", options["html"])):
        check_parent(flag, file)
    if "restart" in options["phases"] and not {"reads", "open"} & set(options["phases"]):
        raise click.UsageError("--phases: restart repeats the reads: add reads")


def check_parent(flag: str, path: Path | None) -> None:
    """Raise a usage error if the folder of a path does not exist."""
    if path is not None and not path.absolute().parent.is_dir():
        raise click.UsageError(f"{flag}: {path}: folder {path.parent} does not exist")


@contextmanager
def prepared_benchmark(options: dict[str, Any]) -> Iterator[Benchmark]:
    """Provide the benchmark of the options, whose nodes run until the context ends."""
    nodes, start, peer = options["nodes"], options["start"], options["peer"]
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
        try:
            yield Benchmark(_plan(options, reference), measured, running)
        except BenchError as error:
            raise click.ClickException(str(error)) from None


def describe_results(bench: Benchmark, command: Sequence[str]) -> dict[str, Any]:
    """Return the figures with their origin and the parameters of the benchmark."""
    return read_provenance(shlex.join(command), _PACKAGES) | describe_plan(bench.plan) | bench.results


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
    return BenchmarkPlan(
        shape=shape,
        extent=extent,
        rows=options["rows"] or tuple(ROWS),
        phases=frozenset(options["phases"]),
        transactions=options["transactions"],
        samples=options["samples"],
        subscribers=options["subscribers"],
        peer=peer,
    )
