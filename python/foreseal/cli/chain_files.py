"""`foreseal import` and `foreseal export`: chains in files of RLP blocks."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from foreseal._core import run_export, run_import
from foreseal.cli.options import FILE, FOLDER
from foreseal.server import Settings


class ProgressBar:
    """A progress line on stderr, shown only on a terminal."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def show(self, block: int, done: int, size: int) -> None:
        """Update the line: `done` blocks so far, number of the last `block`, `size` bytes of the file."""
        self._progress.update(self._task, completed=size, block=block, done=done)


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[ProgressBar]:
    """Show a progress line; `total` in bytes, None if unknown."""
    columns = (
        TextColumn(what),
        BarColumn(),
        TextColumn("{task.fields[done]:,} blocks, at block {task.fields[block]:,}"),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield ProgressBar(progress, progress.add_task(what, total=total, block=0, done=0))


@click.command("import")
@click.option("--datadir", type=FOLDER, required=True, help="Data directory of the chain; created if absent.")
@click.option("--genesis", type=FILE, help="Genesis file in geth's format; required for a new data directory.")
@click.argument("chain", type=FILE, metavar="CHAIN.rlp")
def import_command(datadir: Path, genesis: Path | None, chain: Path) -> None:
    """Execute every block of CHAIN.rlp, check every root, and store the chain in DATADIR.

    Stops at the first bad block, prints the difference, and retains the blocks before it. Ctrl-C interrupts the import
    with exit code 130: imported blocks are retained, and the same command resumes after them.
    """
    settings = Settings(datadir, genesis=genesis)
    try:
        with progress_bar("Importing", chain.stat().st_size) as progress:
            blocks, existing, head, digest = run_import(settings.for_core(), str(chain), progress.show)
    except KeyboardInterrupt:
        click.echo("foreseal: interrupted: imported blocks are retained; run the same command to resume", err=True)
        raise
    before = f" ({existing:,} already stored)" if existing else ""
    click.echo(f"imported {blocks:,} blocks{before}, head {head:,} {digest}")


@click.command("export")
@click.option("--datadir", type=FOLDER, required=True, help="Data directory of the chain.")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.rlp")
def export_command(datadir: Path, file: Path) -> None:
    """Write the sealed blocks after genesis to FILE.rlp, in the format that `foreseal import` reads."""
    if not datadir.is_dir():
        raise click.UsageError(f"--datadir: {datadir} is not a folder")
    with progress_bar("Exporting", None) as progress:
        blocks, _, head, digest = run_export(Settings(datadir).for_core(), str(file), progress.show)
    click.echo(f"exported {blocks:,} blocks, head {head:,} {digest}")
