"""`foreseal bench` with plots in its report, flame graphs, and longer and longer chains."""

import sys
from pathlib import Path
from typing import Any

import click
from benches.compare.long_chains import MIN_LENGTH, expected_lengths, measure_lengths
from benches.compare.perf import PerfSampler
from benches.compare.plotted_report import plotted_page
from benches.compare.profiler import Profiler, expected_profiles

from foreseal.bench.errors import BenchError
from foreseal.bench.phases import Benchmark
from foreseal.bench.progress import TimeEstimate
from foreseal.cli.bench import (
    bench_command,
    check_options,
    check_parent,
    comma_separated,
    describe_results,
    positive,
    prepared_benchmark,
    save_report,
)
from foreseal.cli.bench_lines import show_report
from foreseal.cli.bench_progress import show_bench_progress
from foreseal.cli.options import ParsedValue


@click.command("python -m benches.compare", params=list(bench_command.params))
@click.option(
    "--scale",
    type=ParsedValue("BLOCKS,...", comma_separated(positive)),
    default=None,
    help="Also measure chains of these lengths in blocks, such as 1000,10000,100000,1000000.",
)
@click.option(
    "--profile",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="After the measured runs, run each row once more and save a flame graph of each node in this folder, as "
    "ROW.NODE.svg. Needs the program perf.",
)
def compare_command(scale: tuple[int, ...] | None, profile: Path | None, **options: Any) -> None:
    """Compare nodes as `foreseal bench` does, with plots in the HTML report."""
    check_options(options)
    check_parent("--profile", profile)
    sizes = tuple(sorted(scale or ()))
    if sizes and sizes[0] < MIN_LENGTH:
        raise click.UsageError(f"--scale: chains must have at least {MIN_LENGTH:,} blocks")
    profiler = None if profile is None else _profiler(profile, options["phases"])
    with prepared_benchmark(options) as bench:
        if profiler:
            profiler.check(bench.nodes)
        _run(bench, sizes, profiler)
    report = describe_results(bench, ["python", "-m", "benches.compare", *sys.argv[1:]])
    report["extent"]["sizes"] = sizes
    show_report(report)
    _show_more(report)
    save_report(report, options, plotted_page)


def _profiler(folder: Path, phases: tuple[str, ...]) -> Profiler:
    if not {"reads", "open", "send"} & set(phases):
        raise click.UsageError("--profile: --phases must contain reads, open or send, whose rows are profiled")
    try:
        return Profiler(folder, PerfSampler())
    except BenchError as error:
        raise click.ClickException(f"--profile: {error}") from None


def _run(bench: Benchmark, sizes: tuple[int, ...], profiler: Profiler | None) -> None:
    """Run the phases of the benchmark, then those of this command. Raise BenchError at the first wrong response."""
    plan, nodes = bench.plan, bench.nodes
    expected = bench.expected_seconds() | expected_lengths(nodes, sizes, plan.extent)
    if profiler:
        expected |= expected_profiles(plan, nodes)
    with show_bench_progress(TimeEstimate(expected)) as show:
        filled = bench.fill(show)
        results = bench.measure(filled, show)
        if sizes:
            results["scale"] = [row for node in nodes for row in measure_lengths(node, sizes, plan.extent, show)]
        if profiler:
            results["profiles"] = profiler.profile(filled, plan, results.setdefault("missing", []), show)


def _show_more(report: dict[str, Any]) -> None:
    """Print the figures of long chains and the files of flame graphs as lines."""
    for row in report.get("scale", ()):
        name = f"{row['row']}, {row['connections']}, {row['blocks']:,} blocks"
        cpu, times = row["cpu_us_per_request"], row["cpu_to_shortest"]
        cost = "" if cpu is None else f"  {cpu:>9,.1f} us" + ("" if times is None else f"  x{times:g}")
        click.echo(f"{name:<46} {row['node']:<18} {row['requests_per_second']:>12,.0f} /s{cost}")
    for profile in report.get("profiles", ()):
        name = f"profile, {profile['row']}, {profile['connections']}"
        click.echo(f"{name:<46} {profile['node']:<18} {profile['samples']:>12,} samples  {profile['file']}")


if __name__ == "__main__":
    compare_command()
