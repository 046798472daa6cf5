"""`foreseal pay db`: the schema of a payments database, and its upgrade."""

import sys
from pathlib import Path
from typing import NoReturn

import click
from sqlalchemy import make_url

from foreseal.cli.exit_codes import FAILED
from foreseal.cli.pay_check import opening, read_configuration
from foreseal.payments.ledger import Database, WrongSchema, schema
from foreseal.payments.ledger.database import find_revision


def print_progress(line: str) -> None:
    """Print a line about an upgrade."""
    click.echo(f"foreseal: {line}", err=True)


def upgrade(config: Path) -> None:
    """Upgrade the database of a configuration file, and print its schema before and after."""
    url = existing_database(config)
    with opening(config):
        before = find_revision(url)
        Database(url, upgrade=True, report=print_progress).close()
    head = schema.HEAD
    click.echo(f"schema {head}" if before == head else f"schema {before or 'empty'} upgraded to {head}")


def print_current(config: Path) -> None:
    """Print the schema of the database of a configuration file."""
    url = existing_database(config)
    with opening(config):
        click.echo(find_revision(url) or "empty")


def check_schema(config: Path) -> None:
    """Exit with 1 if the database of a configuration file needs an upgrade, or has a newer or an unreleased schema."""
    url = existing_database(config)
    with opening(config):
        revision = find_revision(url)
        try:
            outdated = schema.needs_upgrade(revision)
        except WrongSchema as error:
            _fail(f"{config}: {error}")
    if outdated:
        older = f"the database has schema {revision}, older than {schema.HEAD}"
        _fail(f"{config}: {older}: run `foreseal pay db upgrade {config}`")
    click.echo(f"schema {revision or 'empty'}: no upgrade is needed")


def existing_database(config: Path) -> str:
    """Return the database's URL. Raise ClickException for a missing file, because opening it would create it."""
    url = read_configuration(config).database.url
    parts = make_url(url)
    if parts.get_backend_name() == "sqlite" and not Path(parts.database or "").is_file():
        raise click.ClickException(f"{config}: database.url: file {parts.database} does not exist")
    return url


def _fail(message: str) -> NoReturn:
    click.echo(f"foreseal: {message}", err=True)
    sys.exit(FAILED)
