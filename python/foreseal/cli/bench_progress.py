"""Progress of `foreseal bench` on stderr: a bar on a terminal, a line for each finished part elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from foreseal.bench.progress import ProgressCallback, ProgressUpdate, TimeEstimate, format_seconds


@contextmanager
def show_bench_progress(estimate: TimeEstimate, console: Console | None = None) -> Iterator[ProgressCallback]:
    """Show phase, run, completed runs, elapsed time and estimated remaining time on stderr."""
    console = console or Console(stderr=True)
    if console.is_terminal:
        with _ProgressBar(estimate, console) as bar:
            yield bar.show
    else:
        lines = _ProgressLines(estimate)
        yield lines.show
        lines.finish()


class _ProgressBar:
    """Two lines that are redrawn between runs only, so that the display takes no processor time from a run."""

    def __init__(self, estimate: TimeEstimate, console: Console) -> None:
        self._estimate = estimate
        columns = (TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn())
        self._progress = Progress(*columns, TextColumn("{task.fields[times]}"), console=console)
        self._task = self._progress.add_task("", times="")
        self._activity = Text("", style="dim", no_wrap=True, overflow="ellipsis")
        shown = Group(self._progress, self._activity)
        self._live = Live(shown, console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> "_ProgressBar":
        self._live.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._live.stop()

    def show(self, update: ProgressUpdate) -> None:
        """Draw the state of a phase."""
        self._estimate.update(update)
        self._progress.update(
            self._task,
            description=update.label,
            completed=update.done,
            total=update.total,
            times=_times(self._estimate),
        )
        self._activity.plain = update.activity
        self._live.refresh()


class _ProgressLines:
    """One line per finished part."""

    def __init__(self, estimate: TimeEstimate) -> None:
        self._estimate = estimate
        self._last: ProgressUpdate | None = None

    def show(self, update: ProgressUpdate) -> None:
        """Print the part that is complete if `update` belongs to the next one."""
        last = self._last
        self._estimate.update(update)
        if last is not None and last.label != update.label:
            # The first update of a repetition has the runs that were complete at the end of the one before.
            self._print(last, update.done if last.phase == update.phase else last.total)
        self._last = update

    def finish(self) -> None:
        """Print the last part."""
        if self._last is not None:
            self._print(self._last, self._last.total)

    def _print(self, update: ProgressUpdate, done: int) -> None:
        click.echo(f"{update.label}: {done:,} of {update.total:,}, {_times(self._estimate)}", err=True)


def _times(estimate: TimeEstimate) -> str:
    return f"{format_seconds(estimate.elapsed)} elapsed, about {format_seconds(estimate.remaining)} left"
