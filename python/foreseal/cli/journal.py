"""`foreseal journal check`, `foreseal journal repair` and `foreseal journal show`."""

import sys
from pathlib import Path
from typing import Any

import click
import orjson

from foreseal._core import journal_check, journal_repair, journal_show
from foreseal.cli.options import DATADIR


@click.group("journal")
def journal_group() -> None:
    """Inspect the journal of a data directory, or truncate it where it is damaged."""


@journal_group.command("check")
@click.argument("datadir", type=DATADIR)
def check_command(datadir: Path) -> None:
    """Read the whole journal in DATADIR and print its contents. Changes nothing.

    Exits with 1 if it is damaged, or ends before its recorded end.
    """
    report = orjson.loads(journal_check(str(datadir)))
    _print(report)
    if report["fault"] is not None or report["missing"] is not None:
        sys.exit(1)


@journal_group.command("repair")
@click.argument("datadir", type=DATADIR)
@click.option("--yes", is_flag=True, help="Do not ask.")
def repair_command(datadir: Path, yes: bool) -> None:
    """Accept the loss of appends in the journal in DATADIR, after printing exactly which are lost.

    Truncates the journal where the damage begins; at the next start the store reverts to the journal's end. The lost
    appends were acknowledged and visible: restore the folder from a copy instead if there is one.
    """
    plan = orjson.loads(journal_repair(str(datadir), False))
    if plan["loss"] is None:
        click.echo("the journal is whole: nothing to repair")
        return
    loss = plan["loss"]
    if loss["in_store"]:
        click.echo("these segments would be removed; the store has all of what is in them:")
    else:
        click.echo("this would be lost:")
    _print({name: fact for name, fact in loss.items() if name not in ("recorded", "tip")})
    if plan["summary"] is not None:
        click.echo(f"as the store and the recorded end show: {plan['summary']}")
    if not yes:
        click.confirm("Give that up for good?", abort=True)
    journal_repair(str(datadir), True)
    click.echo("the journal is repaired: what is missing is given up")


@journal_group.command("show")
@click.argument("datadir", type=DATADIR)
@click.option(
    "--from",
    "start",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    metavar="SEQUENCE",
    help="First append to print.  [default: the oldest]",
)
def show_command(datadir: Path, start: int) -> None:
    """Print the journal in DATADIR, one JSON object per append. Changes nothing; a node may run on it meanwhile.

    Each has sequence and records: kind, block number, step index, hash, hash of the step before, hashes of the
    transactions, and time in ms since 1970, as far as they apply. The output ends with the last complete append.
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
