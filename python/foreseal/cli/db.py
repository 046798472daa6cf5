"""`foreseal db`: statistics, verification and repair of the store in a data directory."""

import sys
from pathlib import Path
from typing import Any

import click
import orjson

from foreseal._core import db_repair, db_stats, db_verify
from foreseal.cli.exit_codes import FAILED
from foreseal.cli.options import EXISTING_FOLDER, FILE, ParsedValue, option
from foreseal.cli.output import format_time, print_facts, show_progress
from foreseal.cli.recovery_source import RecoverySource, read_key

# Number of faults that are printed; all of them are counted.
SHOWN = 50

METHODS = {
    "rewrite": "copy the intact entries into a new store, and rebuild the others from them",
    "meta-page": "restore the damaged meta page from the intact one, and replay the journal from there",
    "backup": "restore the store from the backup, and replay the journal from there",
    "replay": "rebuild the store by replaying the journal from block 1",
}
"""Descriptions of the methods of `repair`, by their names in the core."""


@click.group("db")
def db_group() -> None:
    """Verify or repair the store of a data directory."""


@db_group.command("stats")
@click.argument("datadir", type=EXISTING_FOLDER)
@option("store.map")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def stats_command(datadir: Path, store_map: int | None, as_json: bool) -> None:
    """Print statistics of the store in DATADIR: its newest block, its windows, the size of each table.

    Read-only; a node may be running on DATADIR.
    """
    text = db_stats(str(datadir), store_map)
    if as_json:
        click.echo(text)
        return
    stats = orjson.loads(text)
    tables, origins = stats.pop("tables"), stats.pop("origins")
    print_facts(stats)
    for origin in origins:
        made = f"by foreseal {origin['program']} on {format_time(origin['time'])}"
        print_facts({f"schema {origin['schema']}": made})
    click.echo(f"\n  {'table':<20} {'entries':>14} {'bytes':>16} {'depth':>6}")
    for table in tables:
        click.echo(f"  {table['name']:<20} {table['entries']:>14,} {table['bytes']:>16,} {table['depth']:>6}")


@db_group.command("verify")
@click.argument("datadir", type=EXISTING_FOLDER)
@option("store.map")
def verify_command(datadir: Path, store_map: int | None) -> None:
    """Recompute every hash and root of the data in DATADIR and compare it with the stored value.

    Prints table and key of each mismatch; exit 1 if there is one. Read-only; a node may be running on DATADIR.
    """
    print_facts(verified(datadir, store_map))
    click.echo("the store is consistent")


def verified(datadir: Path, store_map: int | None) -> dict[str, Any]:
    """Verify the store and return the numbers of checked entries. Print faults and end the command if there are any."""
    with show_progress("verifying") as show:
        facts: dict[str, Any] = orjson.loads(db_verify(str(datadir), show, store_map))
    faults, count = facts.pop("faults"), facts.pop("fault_count")
    if not count:
        return facts
    print_facts(facts)
    _print_faults(faults, count)
    click.echo(f"foreseal: the store is damaged: {count:,} inconsistent entries", err=True)
    sys.exit(FAILED)


def _url(text: str) -> str:
    """Return the URL of a node. Raise ValueError if it is invalid."""
    RecoverySource(text)
    return text


@db_group.command("repair")
@click.argument("datadir", type=EXISTING_FOLDER)
@click.option("--backup", type=EXISTING_FOLDER, metavar="BACKUP", help="Recover lost data from this backup.")
@click.option(
    "--from",
    "url",
    type=ParsedValue("URL", _url),
    metavar="URL",
    help="Fetch blocks that are in neither the journal nor BACKUP from this node of the same chain, which must serve "
    "debug_getRawBlock over HTTP.",
)
@click.option("--from-key-file", type=FILE, metavar="FILE", help="File with the API key for the node at URL.")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@option("store.map")
def repair_command(
    datadir: Path, backup: Path | None, url: str | None, from_key_file: Path | None, yes: bool, store_map: int | None
) -> None:
    """Repair the store in DATADIR after printing the damage and the plan. Stop the node first.

    The damaged store is moved to DATADIR/store.damaged. If no source has the lost data, nothing is changed; exit 1.
    Blocks from another node are executed and verified; a block that contradicts the journal or the intact entries of
    the store is rejected.
    """
    if url is None and from_key_file is not None:
        raise click.UsageError("--from-key-file requires --from URL")
    node = None if url is None else RecoverySource(url, None if from_key_file is None else read_key(from_key_file))
    where = None if backup is None else str(backup)
    with show_progress("verifying") as show:
        plan = orjson.loads(db_repair(str(datadir), False, show, where, store_map, node))
    if plan["method"] == "nothing":
        click.echo("the store is consistent: nothing to repair")
        return
    _print_faults(plan["faults"], plan["fault_count"])
    if plan["method"] == "impossible":
        click.echo(f"foreseal: the store cannot be repaired: {plan['why']}", err=True)
        sys.exit(FAILED)
    _print_plan(plan, node)
    if not yes:
        click.confirm("Repair the store?", abort=True)
    with show_progress("repairing") as show:
        db_repair(str(datadir), True, show, where, store_map, node)
    verified(datadir, store_map)
    click.echo(f"repaired and verified the store; the damaged one is in {datadir / 'store.damaged'}")


def _print_plan(plan: dict[str, Any], node: RecoverySource | None) -> None:
    """Print what a repair does."""
    if plan["warning"]:
        click.echo(f"warning: {plan['warning']}", err=True)
    fetch = plan["fetch"]
    if fetch is None or node is None:
        click.echo(f"the repair will {METHODS[plan['method']]}")
        if node is not None:
            click.echo(f"no block needs to be fetched from {node.origin}")
        return
    begin = (
        ""
        if fetch["backup"] is None
        else f"restore the store from the backup, which ends at block {fetch['backup']:,}, "
    )
    count = fetch["last"] + 1 - fetch["first"]
    click.echo(
        f"the repair will {begin}fetch {count:,} blocks, {fetch['first']:,} to {fetch['last']:,}, from {node.origin}, "
        f"execute and verify them, and replay the journal from there to block {fetch['journal_head']:,}"
    )
    if fetch["source_head"] > fetch["journal_head"]:
        click.echo(
            f"warning: that node is at block {fetch['source_head']:,}, the journal ends at {fetch['journal_head']:,}: "
            "blocks beyond the journal are not fetched, and a node started on DATADIR may contradict them",
            err=True,
        )


def _print_faults(faults: list[dict[str, str]], count: int) -> None:
    """Print one line per fault, up to a limit."""
    for fault in faults[:SHOWN]:
        location = f"table {fault['table']}, key {fault['key']}: " if fault["table"] else ""
        click.echo(f"damaged: {location}{fault['why']}")
    if count > SHOWN:
        click.echo(f"and {count - SHOWN:,} more")
