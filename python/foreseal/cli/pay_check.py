"""`foreseal pay check` and `foreseal pay template`, and how all of `foreseal pay` reads its file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from sqlalchemy.exc import SQLAlchemyError

from foreseal.cli.exits import WRONG_USE
from foreseal.cli.options import FILE, Decorated
from foreseal.payments.configuration import Configuration, ConfigurationError, Secret, SecretError, read, template
from foreseal.payments.ledger import WrongSchema


def configured(command: Decorated) -> Decorated:
    """The option --config of a command that cannot do without it."""
    return click.option("--config", type=FILE, required=True, help="What `foreseal pay template` begins.")(command)


def read_configuration(path: Path) -> Configuration:
    """The configuration in a file; ends the command with all that is wrong with it."""
    try:
        return read(path)
    except ConfigurationError as error:
        raise refused(error.problems) from None


def refused(problems: list[str]) -> SystemExit:
    """Say what is wrong, a line each; what to raise then."""
    for problem in problems:
        click.echo(f"foreseal: {problem}", err=True)
    return SystemExit(WRONG_USE)


@contextmanager
def opening(config: Path) -> Iterator[None]:
    """Ends the command with what is wrong, where something of a configuration cannot be opened."""
    try:
        yield
    except ConfigurationError as error:
        raise refused(error.problems) from None
    except (SecretError, WrongSchema) as error:
        raise refused([f"{config}: {error}"]) from None
    except SQLAlchemyError as error:
        # Its own words may hold the URL, and with it a password.
        raise click.ClickException(f"{config}: the database cannot be used: {type(error).__name__}") from None


@click.command("check")
@click.argument("file", type=FILE)
def check_command(file: Path) -> None:
    """Say everything that is wrong with the configuration in FILE and its secrets; exit 2 if there is something.

    The node and the database are not asked.
    """
    found = read_configuration(file)
    problems: list[str] = []
    account = _look(file, "payee", found.payee, problems, account=True)
    _look(file, "facilitator", found.facilitator, problems, account=True)
    for number, hook in enumerate(found.webhooks):
        _look(file, f"webhooks[{number}]", hook, problems)
    if problems:
        raise refused(problems)
    click.echo(f"{file}: all good{f', the payee is {account}' if account else ''}")


@click.command("template")
def template_command() -> None:
    """Print a configuration with every key, its meaning and its default."""
    click.echo(template(), nl=False)


def _look(file: Path, name: str, section: Any, problems: list[str], *, account: bool = False) -> str | None:
    """Whether the secret of a section is there; of an account its address."""
    if section is None:
        return None
    secret: Secret = section.secret()
    try:
        if account:
            return str(secret.account(os.environ).address)
        secret.text(os.environ)
    except SecretError as error:
        problems.append(f"{file}: {name}: {error}")
    return None
