"""`foreseal pay keys`: API keys of the payment service and their roles."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import click
import orjson
from sqlalchemy import Connection

from foreseal.cli.output import format_time, print_table
from foreseal.cli.pay_check import configured, opening, read_configuration
from foreseal.payments.api import api_keys
from foreseal.payments.api.models import Role
from foreseal.payments.ledger import Database, UnknownRecord

_HEADS = ("id", "name", "role", "created", "state")


@click.group("keys")
def keys_group() -> None:
    """Create, list and revoke API keys of `foreseal pay serve`. A running service applies changes at once."""


@keys_group.command("create")
@click.argument("name")
@configured
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    required=True,
    help="reader: read; cashier: orders; refunder: refunds; admin: everything.",
)
def create_command(name: str, config: Path, role: str) -> None:
    """Create an API key called NAME and print it. Only its hash is stored: it cannot be printed again."""
    with _transaction(config) as tx:
        try:
            text = api_keys.create(tx, name, Role(role), int(time.time()))
        except ValueError as error:
            raise click.UsageError(str(error)) from None
    click.echo(f"foreseal: created API key {name} with role {role}; store it now, it is not shown again", err=True)
    click.echo(text)


@keys_group.command("list")
@configured
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_command(config: Path, as_json: bool) -> None:
    """Show all keys without their secrets, including revoked ones."""
    with _transaction(config) as tx:
        found = api_keys.listed(tx)
    states = ["active" if row.revoked is None else "revoked" for row in found]
    if as_json:
        shown = [
            {"id": row.id, "name": row.name, "role": row.role, "created": row.created, "state": state}
            for row, state in zip(found, states, strict=True)
        ]
        click.echo(orjson.dumps(shown, option=orjson.OPT_INDENT_2))
        return
    rows = zip(found, states, strict=True)
    print_table([_HEADS, *((row.id, row.name, row.role, format_time(row.created), state) for row, state in rows)])


@keys_group.command("revoke")
@click.argument("key")
@configured
def revoke_command(key: str, config: Path) -> None:
    """Revoke the KEY with this ID or name: it is rejected from now on."""
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
