"""Check of etcd for `foreseal journal check`, and `foreseal journal export` and `foreseal journal import`."""

from pathlib import Path
from typing import Any

import click
import orjson

from foreseal._core import journal_check_engine, journal_export, journal_import
from foreseal.cli.exit_codes import FAILED
from foreseal.cli.journal_engine_options import credential_options, target_json
from foreseal.cli.journal_engine_rows import ENGINE_TEXTS, engine_rows, finding_text
from foreseal.cli.options import EXISTING_FOLDER
from foreseal.cli.output import print_table
from foreseal.etcd_version import parse_version, recommended_flags
from foreseal.server.settings import TABLE

_LOSS = (
    "Lost are the steps after the last append that etcd had acknowledged and that no surviving journal has; clients "
    "may have seen them. `foreseal journal check DATADIR` on each machine prints where its journal ends: import the "
    "longest one."
)


def check_engine(url: str, target: bytes, as_json: bool) -> int:
    """Check the etcd members of a journal URL and print the result. Return 1 if a node would not start with them."""
    report = orjson.loads(journal_check_engine(target))
    rejected = any(finding["rejected"] for finding in report["findings"])
    if as_json:
        click.echo(orjson.dumps(report))
    else:
        _print_report(url, report, rejected)
    return FAILED if rejected else 0


def _print_report(url: str, report: dict[str, Any], rejected: bool) -> None:
    click.echo(f"{url}\n")
    print_table(engine_rows(report), ENGINE_TEXTS, indent="  ")
    appends = report["appends"]
    click.echo(
        f"\n  100 appends of 17 KB: p50 {appends['p50Ms']:.1f} ms, p99 {appends['p99Ms']:.1f} ms, "
        f"max {appends['maxMs']:.1f} ms"
    )
    versions = [parse_version(each.get("version", "")) for each in report["endpoints"]]
    oldest = min((version for version in versions if version is not None), default=None)
    click.echo(f"  recommended flags: {' '.join(recommended_flags(oldest))}")
    for finding in report["findings"]:
        click.echo(f"  {'error' if finding['rejected'] else 'warning'}: {finding_text(finding)}")
    click.echo(
        "\nforeseal run would reject this etcd; --force accepts an old version or a single member, for tests"
        if rejected
        else "\nforeseal run accepts this etcd"
    )


@click.command("export")
@click.argument("datadir", type=EXISTING_FOLDER)
@click.argument("file", type=click.Path(path_type=Path))
def export_command(datadir: Path, file: Path) -> None:
    """Write the newest appends of the journal in DATADIR to the new FILE, for `foreseal journal import`.

    FILE has at least the newest 300 appends, and those back to the newest sealed block. Stop the node first. FILE is
    not a backup of the chain: a node needs its data directory or `foreseal backup` as well.
    """
    exported = orjson.loads(journal_export(str(datadir), str(file)))
    click.echo(f"chain {exported['chainId']}, genesis {exported['genesis']}")
    click.echo(f"wrote {exported['written']:,} appends, {exported['first']:,} to {exported['next'] - 1:,}, to {file}")


@click.command("import")
@click.argument("source", type=click.Path(exists=True, path_type=Path))
@click.option("--journal", required=True, metavar="URL", help=TABLE["cluster.journal"].help)
@credential_options
@click.option("--force", is_flag=True, help="Continue in an etcd that already has a part of these appends.")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
def import_command(source: Path, journal: str, force: bool, yes: bool, **credentials: Any) -> None:
    """Write the newest appends of SOURCE into an etcd that has lost its data.

    SOURCE is a data directory or a file of `foreseal journal export`. Stop all nodes first. No owner is written: the
    next node that is not a standby continues the chain. Appends that contradict SOURCE are never overwritten.
    """
    target = target_json(journal, credentials)
    plan = orjson.loads(journal_import(str(source), target, force, False))
    click.echo(f"chain {plan['chainId']}, genesis {plan['genesis']}")
    click.echo(f"{source} has appends {plan['first']:,} to {plan['next'] - 1:,}")
    click.echo(_LOSS)
    if not yes:
        click.confirm("Write them to etcd?", abort=True)
    report = orjson.loads(journal_import(str(source), target, force, True))["report"]
    head = report["head"]
    click.echo(
        f"imported {report['written']:,} appends from {report['first']:,} on: the head is append {head['sequence']:,}, "
        f"block {head['block']:,}, step {head['index']:,}"
    )
