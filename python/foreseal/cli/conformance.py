"""`foreseal statetest` and `foreseal blocktest`: the Ethereum test vectors, one JSON line per case."""

import sys

import click

from foreseal._core import blocktest, statetest

PATH = click.Path(exists=True)


def _print(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")


def _end(passed: int, failed: int) -> None:
    sys.stdout.flush()
    click.echo(f"{passed:,} passed, {failed:,} failed", err=True)
    if failed or not passed:
        sys.exit(1)


@click.command("statetest")
@click.option("--fork", help="Run the cases of this fork only.")
@click.argument("paths", nargs=-1, required=True, type=PATH, metavar="PATH...")
def statetest_command(paths: tuple[str, ...], fork: str | None) -> None:
    """Run state tests (GeneralStateTests): files, folders or a .tar.zst archive, on all cores.

    Prints one JSON line per case: file, name, fork, index, stateRoot, logsHash, pass. Exit 1 if any failed.
    """
    _end(*statetest(list(paths), fork, _print))


@click.command("blocktest")
@click.argument("paths", nargs=-1, required=True, type=PATH, metavar="PATH...")
def blocktest_command(paths: tuple[str, ...]) -> None:
    """Run blockchain tests: files, folders or a .tar.zst archive, on all cores.

    Prints one JSON line per case: file, name, fork, pass and the difference. Exit 1 if any failed.
    """
    _end(*blocktest(list(paths), _print))
