"""`foreseal pay spent`: amounts spent and reserved by buyers of paid requests, by session and day."""

import contextlib
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from foreseal.cli.output import print_table, show_progress
from foreseal.cli.pay_db import print_progress
from foreseal.client import Client
from foreseal.payments.chain import ChainError, ChainNode, RpcNode
from foreseal.payments.ledger import Database, Ledger, LedgerError
from foreseal.payments.x402.buyer.purchases import Purchases
from foreseal.payments.x402.buyer.reconciliation import Reconciliation, Totals, totals

_HEADINGS = ("day", "session", "network", "token", "spent", "reserved", "released", "purchases")
_TEXTS = 4
"""Number of text columns; the others are numeric."""


def print_spent(url: str, payer: str | None, nodes: Sequence[str], *, upgrade: bool) -> None:
    """Print the amounts of all buyers, or of one, by session and day; query the nodes first."""
    try:
        database = _opened(url, upgrade=upgrade)
        try:
            if nodes:
                _resolve(database, payer, nodes)
            account_totals = totals(database, payer)
        finally:
            database.close()
    except (ArgumentError, SQLAlchemyError, LedgerError) as error:
        raise click.ClickException(f"--database: {error}") from None
    for account in sorted({total.payer for total in account_totals}):
        click.echo(account)
        _print([total for total in account_totals if total.payer == account])
    if not account_totals:
        click.echo("no purchases")


def _opened(url: str, *, upgrade: bool) -> Database:
    """Open the database. Raise ClickException for a missing file, because opening it would create it."""
    parts = make_url(url)
    if parts.get_backend_name() == "sqlite" and not Path(parts.database or "").is_file():
        raise click.ClickException(f"--database: file {parts.database} does not exist")
    return Database(url, upgrade=upgrade, report=print_progress)


def _resolve(database: Database, payer: str | None, urls: Sequence[str]) -> None:
    purchases = Purchases(Ledger(database, lambda: int(time.time())))
    with contextlib.ExitStack() as opened:
        chain_nodes: dict[str, ChainNode] = {}
        try:
            for url in urls:
                node = RpcNode(opened.enter_context(Client(url)))
                chain_nodes[f"eip155:{node.chain_id()}"] = node
        except (ChainError, ValueError) as error:
            raise click.ClickException(f"--node: {error}") from None
        reconciliation = Reconciliation(purchases, chain_nodes)
        for account in [payer] if payer else purchases.payers():
            with show_progress("querying") as show:
                reconciled = reconciliation.run(account, partial(show, account))
            click.echo(f"{account}: {reconciled.concluded} concluded, {reconciled.open} open", err=True)
            for id, reason in reconciled.errors.items():
                click.echo(f"{id}: {reason}", err=True)


def _print(sums: Sequence[Totals]) -> None:
    rows = []
    for total in sums:
        numbers = map(str, (total.spent, total.reserved, total.returned, total.purchases))
        rows.append((total.day, total.session, total.asset.network, total.asset.token, *numbers))
    print_table([_HEADINGS, *rows], _TEXTS, indent="  ")
