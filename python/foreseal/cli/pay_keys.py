"""`foreseal pay keys`: API keys of the payment service and their roles."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import click
import orjson
from sqlalchemy import Connection

from foreseal.cli.output import format_time, print_table
from foreseal.cli.pay_check import opening, read_configuration
from foreseal.payments.api import api_keys
from foreseal.payments.api.roles import Role
from foreseal.payments.ledger import Database, UnknownRecord

_HEADS = ("id", "name", "role", "created", "state")


def create_key(name: str, config: Path, role: Role) -> None:
    """Create an API key and print it."""
    with _transaction(config) as tx:
        try:
            text = api_keys.create(tx, name, role, int(time.time()))
        except ValueError as error:
            raise click.UsageError(str(error)) from None
    click.echo(f"foreseal: created API key {name} with role {role}; store it now, it is not shown again", err=True)
    click.echo(text)


def list_keys(config: Path, *, as_json: bool) -> None:
    """Print all keys without their secrets, as a table or as a JSON array."""
    with _transaction(config) as tx:
        records = api_keys.listed(tx)
    states = ["active" if row.revoked is None else "revoked" for row in records]
    if as_json:
        shown = [
            {"id": row.id, "name": row.name, "role": row.role, "created": row.created, "state": state}
            for row, state in zip(records, states, strict=True)
        ]
        click.echo(orjson.dumps(shown, option=orjson.OPT_INDENT_2))
        return
    rows = zip(records, states, strict=True)
    print_table([_HEADS, *((row.id, row.name, row.role, format_time(row.created), state) for row, state in rows)])


def revoke_key(key: str, config: Path) -> None:
    """Revoke the key with this ID or name."""
    with _transaction(config) as tx:
        try:
            revoked = api_keys.revoke(tx, key, int(time.time()))
        except UnknownRecord as error:
            raise click.UsageError(f"{error}: see `foreseal pay keys list`") from None
    click.echo(f"foreseal: revoked key {revoked.id} ({revoked.name})", err=True)


@contextlib.contextmanager
def _transaction(config: Path) -> Iterator[Connection]:
    """Open one transaction on the database of the configuration."""
    with (
        opening(config),
        contextlib.closing(Database(read_configuration(config).database.url)) as database,
        database.transaction() as tx,
    ):
        yield tx
