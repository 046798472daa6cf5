"""Facts and progress, as commands show them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

Show = Callable[[str, int, int], None]


@contextmanager
def progress_shown(doing: str) -> Iterator[Show]:
    """What shows the progress on stderr: a bar on a terminal, lines elsewhere. `doing` names the work: verifying."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(doing).show
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(doing)
        yield lambda part, done, of: progress.update(task, description=part, completed=done, total=of)


class _Lines:
    """Progress as lines on stderr: one where a part begins, then one for each tenth of it."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._shown = ("", 0)

    def show(self, part: str, done: int, of: int) -> None:
        """`done` of `of` in this part so far."""
        now = (part, 10 * done // of if of else 10)
        if now != self._shown:
            self._shown = now
            click.echo(f"{self._doing} {part}: {done:,} of {of:,}", err=True)


def print_facts(facts: dict[str, Any]) -> None:
    """One line a fact."""
    for name, value in facts.items():
        if isinstance(value, dict):
            value = f"{value['number']:,} {value['hash']}"
        elif isinstance(value, int):
            value = f"{value:,}"
        click.echo(f"  {name.replace('_', ' '):<20} {'none' if value is None else value}")


def print_table(rows: Sequence[Sequence[str]], texts: int | None = None, indent: str = "") -> None:
    """One line a row, its headings the first; columns behind the first `texts` are numbers, which end where they do."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        if texts is not None:
            cells[texts:] = [cell.rjust(width) for cell, width in zip(row[texts:], widths[texts:], strict=True)]
        click.echo(indent + "  ".join(cells).rstrip())


def moment(seconds: float) -> str:
    """A time in seconds since 1970, for people."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(sep=" ", timespec="seconds")
