"""Output of facts and progress."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

ShowProgress = Callable[[str, int, int], None]


@contextmanager
def show_progress(operation: str) -> Iterator[ShowProgress]:
    """Show progress on stderr: a bar on a terminal, lines elsewhere. `operation` names the operation: verifying."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _ProgressLines(operation).show
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(operation)
        yield lambda phase, done, of: progress.update(task, description=phase, completed=done, total=of)


class _ProgressLines:
    """Progress as lines on stderr: one at the start of a part, then one per tenth of it."""

    def __init__(self, operation: str) -> None:
        self._operation = operation
        self._shown = ("", 0)

    def show(self, phase: str, done: int, total: int) -> None:
        """Report that `done` of `of` units of this part are complete."""
        now = (phase, 10 * done // total if total else 10)
        if now != self._shown:
            self._shown = now
            click.echo(f"{self._operation} {phase}: {done:,} of {total:,}", err=True)


def print_facts(facts: dict[str, Any]) -> None:
    """Print one line per fact."""
    for name, value in facts.items():
        if isinstance(value, dict):
            value = f"{value['number']:,} {value['hash']}"
        elif isinstance(value, int):
            value = f"{value:,}"
        click.echo(f"  {name.replace('_', ' '):<20} {'none' if value is None else value}")


def printable(text: str) -> str:
    """Return a text of another machine with `?` for each character that would control the terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)


def print_table(rows: Sequence[Sequence[str]], texts: int | None = None, indent: str = "") -> None:
    """Print one line per row, the headings first; columns after the first `texts` are numeric and right-aligned.

    Characters that would control the terminal are replaced.
    """
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        if texts is not None:
            cells[texts:] = [cell.rjust(width) for cell, width in zip(row[texts:], widths[texts:], strict=True)]
        click.echo(indent + "  ".join(cells).rstrip())


def format_time(seconds: float) -> str:
    """Return a time in seconds since 1970 in readable form."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(sep=" ", timespec="seconds")
