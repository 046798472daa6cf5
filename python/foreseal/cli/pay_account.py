"""`foreseal pay account`: transactions of the configured accounts that wait, and the end of one that is rejected."""

import os
import time
from pathlib import Path

import click

from foreseal.cli.output import print_table, printable
from foreseal.cli.pay_check import opening, read_configuration, require_chain
from foreseal.cli.pay_db import existing_database
from foreseal.client import Client
from foreseal.payments.chain import ChainError, ChainNode, RpcNode
from foreseal.payments.configuration import Configuration
from foreseal.payments.destinations.registry import list_signers
from foreseal.payments.ledger import Database, Ledger
from foreseal.payments.transactions import (
    DeliveryStatus,
    LocalSigner,
    OpenTransaction,
    SendingError,
    TransactionIntents,
    TransactionSender,
    TransactionSigner,
    open_transactions,
)

_HEADINGS = ("nonce", "purpose", "of", "state")
_MAX_SHOWN = 20


def show_accounts(config: Path, free: int | None, account: str | None) -> None:
    """Print the open transactions of each account. With `free`, first end the one with this account nonce."""
    configuration = read_configuration(config)
    with opening(config):
        signers = _signers(configuration)
        if account is not None and account not in signers:
            raise click.UsageError(f"--account: {account} is not one of the accounts of {config}: {', '.join(signers)}")
        database = Database(existing_database(config))
    node = configuration.node
    try:
        with Client(node.url, node.options()) as client:
            senders = _senders(configuration, signers, database, RpcNode(client))
            if free is not None:
                _free(senders, account, free)
            for address, sender in senders.items():
                if account in (None, address):
                    _print(sender)
    except ChainError as error:
        raise click.ClickException(f"{node.url}: {error}") from None
    finally:
        database.close()


def _signers(configuration: Configuration) -> dict[str, TransactionSigner]:
    """Return the signers of the payees and of the facilitator, by account."""
    signers = {each.signer.address: each.signer for each in list_signers(configuration, os.environ)}
    if configuration.facilitator is not None:
        signer = LocalSigner(configuration.facilitator.secret().account(os.environ))
        signers.setdefault(signer.address, signer)
    return signers


def _senders(
    configuration: Configuration, signers: dict[str, TransactionSigner], database: Database, node: ChainNode
) -> dict[str, TransactionSender]:
    require_chain(configuration, node)
    ledger = Ledger(database, lambda: int(time.time()))
    return {
        address: configuration.policy.sender(ledger, node, TransactionIntents(configuration.node.chain_id, signer))
        for address, signer in signers.items()
    }


def _free(senders: dict[str, TransactionSender], account: str | None, nonce: int) -> None:
    """Let an empty transfer take an account nonce, if the node rejects the transaction that has it."""
    if account is None and len(senders) > 1:
        raise click.UsageError(f"--account: required, because the configuration has {len(senders)} accounts")
    sender = senders[account or next(iter(senders))]
    transaction = next((each for each in _open(sender) if each.account_nonce == nonce), None)
    if transaction is None:
        raise click.UsageError(f"--free: no open transaction of {sender.account.address} has account nonce {nonce}")
    try:
        delivered = sender.deliver(transaction.intent, gives_up=True)
    except SendingError as error:
        raise click.ClickException(str(error)) from None
    if delivered.status is not DeliveryStatus.REJECTED:
        message = printable(delivered.message) or "the node accepts it"
        raise click.ClickException(f"--free: the transaction with account nonce {nonce} is not rejected: {message}")
    if not any(each.is_empty for each in _open(sender) if each.account_nonce == nonce):
        message = printable(delivered.message)
        raise click.ClickException(f"--free: the node did not answer all requests; try again: {message}")
    click.echo(f"foreseal: an empty transfer takes account nonce {nonce}", err=True)


def _open(sender: TransactionSender) -> list[OpenTransaction]:
    with sender.ledger.database.reading() as tx:
        return open_transactions(tx, sender.intents.chain_id, sender.account.address)


def _print(sender: TransactionSender) -> None:
    """Print an account and its open transactions."""
    address = sender.account.address
    included = sender.node.transaction_count(address, "latest")
    pending = sender.node.transaction_count(address, "pending")
    waiting = _open(sender)
    counts = f"next account nonce {included} in the latest block, {pending} in the pending block"
    click.echo(f"{address}: {len(waiting)} open transactions, {counts}")
    shown = [
        (str(each.account_nonce), each.purpose.value, each.subject, _state(each, included, pending))
        for each in waiting[:_MAX_SHOWN]
    ]
    if shown:
        print_table([_HEADINGS, *shown], indent="  ")
    if len(waiting) > _MAX_SHOWN:
        click.echo(f"  and {len(waiting) - _MAX_SHOWN} more")


def _state(transaction: OpenTransaction, included: int, pending: int) -> str:
    """Return why a transaction waits."""
    rejection = printable(transaction.rejection or "")
    if transaction.account_nonce < included:
        return "included, not final"
    if transaction.account_nonce < pending:
        return "in the pending block"
    if transaction.is_empty:
        return f"an empty transfer takes its place: {rejection}"
    if transaction.rejection is not None:
        return f"rejected since block {transaction.rejected_since}: {rejection}"
    return "next" if transaction.account_nonce == pending else f"waits for account nonce {pending}"
