"""`foreseal db stats` and `foreseal db verify`: the store of a data directory, seen from outside."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import orjson
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from foreseal._core import db_stats, db_verify
from foreseal.cli.exits import FAILED
from foreseal.cli.options import option

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
# Faults that are shown; all of them are counted.
SHOWN = 50

Show = Callable[[str, int, int], None]


@click.group("db")
def db_group() -> None:
    """Look at the store of a data directory. Changes nothing; a node may run on it meanwhile."""


@db_group.command("stats")
@click.argument("datadir", type=FOLDER)
@option("store.map")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def stats_command(datadir: Path, store_map: int | None, as_json: bool) -> None:
    """Say what the store in DATADIR holds: its newest block, its windows, the size of each table."""
    text = db_stats(str(datadir), store_map)
    if as_json:
        click.echo(text)
        return
    stats = orjson.loads(text)
    tables = stats.pop("tables")
    _print(stats)
    click.echo(f"\n  {'table':<20} {'entries':>14} {'bytes':>16} {'depth':>6}")
    for table in tables:
        click.echo(f"  {table['name']:<20} {table['entries']:>14,} {table['bytes']:>16,} {table['depth']:>6}")


@db_group.command("verify")
@click.argument("datadir", type=FOLDER)
@option("store.map")
def verify_command(datadir: Path, store_map: int | None) -> None:
    """Compute again every hash and root that follows from what is stored in DATADIR, and compare.

    Exit 1 if something does not fit; each such entry is named by its table and key.
    """
    with progress_shown() as show:
        found = orjson.loads(db_verify(str(datadir), show, store_map))
    faults, count = found.pop("faults"), found.pop("fault_count")
    _print(found)
    for fault in faults[:SHOWN]:
        click.echo(f"damaged: table {fault['table']}, key {fault['key']}: {fault['why']}")
    if count > SHOWN:
        click.echo(f"and {count - SHOWN:,} more")
    if count:
        click.echo(f"foreseal: the store is damaged: {count:,} entries do not fit", err=True)
        sys.exit(FAILED)
    click.echo("the store is whole")


@contextmanager
def progress_shown() -> Iterator[Show]:
    """What shows the progress on stderr: a bar on a terminal, lines elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines().show
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("Verifying")
        yield lambda part, done, of: progress.update(task, description=part, completed=done, total=of)


class Lines:
    """Progress as lines on stderr: one where a part begins, then one for each tenth of it."""

    def __init__(self) -> None:
        self._shown = ("", 0)

    def show(self, part: str, done: int, of: int) -> None:
        """`done` of `of` in this part so far."""
        now = (part, 10 * done // of if of else 10)
        if now != self._shown:
            self._shown = now
            click.echo(f"verifying {part}: {done:,} of {of:,}", err=True)


def _print(facts: dict[str, Any]) -> None:
    """One line a fact."""
    for name, value in facts.items():
        if isinstance(value, dict):
            value = f"{value['number']:,} {value['hash']}"
        elif isinstance(value, int):
            value = f"{value:,}"
        click.echo(f"  {name.replace('_', ' '):<20} {'none' if value is None else value}")
