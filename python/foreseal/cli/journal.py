"""`foreseal journal`: inspection and repair of a journal, and recovery of a quorum journal."""

import sys
from pathlib import Path
from typing import Any

import click
import orjson

from foreseal._core import journal_check, journal_repair, journal_show
from foreseal.cli.exit_codes import FAILED
from foreseal.cli.journal_engine import check_engine, export_command, import_command
from foreseal.cli.journal_engine_options import credential_options, target_json
from foreseal.cli.options import EXISTING_FOLDER


@click.group("journal")
def journal_group() -> None:
    """Inspect or repair the journal of a data directory, or the quorum journal of a cluster."""


journal_group.add_command(export_command)
journal_group.add_command(import_command)


@journal_group.command("check")
@click.argument("target", metavar="DATADIR|URL")
@credential_options
@click.option("--force", is_flag=True, help="Accept an etcd that is too old or has a single member.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check_command(target: str, force: bool, as_json: bool, **credentials: Any) -> int:
    """Check the journal in a data directory, or the etcd of a quorum journal by its URL etcd://...

    In a data directory, read the whole journal and print a summary; exit 1 if it is damaged or ends before its
    recorded end.

    In etcd, print versions, database sizes and hashes of the members, and the duration of 100 appends to a key of
    its own; exit 1 if `foreseal run` would reject it.
    """
    if target.startswith("etcd://"):
        return check_engine(target, target_json(target, credentials, force=force), as_json)
    datadir = EXISTING_FOLDER.convert(target, None, click.get_current_context())
    report = orjson.loads(journal_check(str(datadir)))
    if as_json:
        click.echo(orjson.dumps(report))
    else:
        _print(report)
    return FAILED if report["fault"] is not None or report["missing"] is not None else 0


@journal_group.command("repair")
@click.argument("datadir", type=EXISTING_FOLDER)
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
def repair_command(datadir: Path, yes: bool) -> None:
    """Truncate the damaged journal in DATADIR, after printing which appends are lost.

    The journal is cut where the damage begins; at the next start the store reverts to the end of the journal. The lost
    appends were acknowledged and visible: if you have a backup, restore it instead.
    """
    plan = orjson.loads(journal_repair(str(datadir), False))
    if plan["loss"] is None:
        click.echo("the journal is consistent: nothing to repair")
        return
    loss = plan["loss"]
    if loss["in_store"]:
        click.echo("segments to remove; the store has all of their data:")
    else:
        click.echo("data to be lost:")
    _print({name: fact for name, fact in loss.items() if name not in ("recorded", "tip")})
    if plan["summary"] is not None:
        click.echo(f"according to the store and the recorded end: {plan['summary']}")
    if not yes:
        click.confirm("Delete it permanently?", abort=True)
    journal_repair(str(datadir), True)
    click.echo("repaired the journal: the missing appends are lost")


@journal_group.command("show")
@click.argument("datadir", type=EXISTING_FOLDER)
@click.option(
    "--from",
    "start",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    metavar="SEQUENCE",
    help="First append to print.  [default: the oldest]",
)
def show_command(datadir: Path, start: int) -> None:
    """Print the journal in DATADIR, one JSON object per append. Read-only; a node may be running on DATADIR.

    Each object has the sequence number and the records: kind, block number, step index, hash, parent step hash,
    transaction hashes, and Unix time in ms, where they apply. The output ends with the last complete append.
    """
    out = sys.stdout.buffer
    journal_show(str(datadir), lambda line: out.write(line + b"\n"), start)
    out.flush()


def _print(facts: dict[str, Any]) -> None:
    """Print one line per fact; nested facts share a line."""
    for name, value in facts.items():
        if value is None or value == []:
            continue
        if isinstance(value, dict):
            value = ", ".join(f"{inner.replace('_', ' ')} {fact}" for inner, fact in value.items())
        click.echo(f"  {name.replace('_', ' '):<16} {value}")
