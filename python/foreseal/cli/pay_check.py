"""`foreseal pay check`, `foreseal pay template`, and the configuration file of all `foreseal pay` commands."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from sqlalchemy.exc import SQLAlchemyError

from foreseal.cli.exit_codes import USAGE_ERROR
from foreseal.payments.api.webhook_signature import decode_secrets
from foreseal.payments.chain import ChainError, ChainNode
from foreseal.payments.configuration import (
    Configuration,
    ConfigurationError,
    Secret,
    SecretError,
    WebhookSection,
    read,
    template,
)
from foreseal.payments.destinations.registry import list_signers
from foreseal.payments.hosting.conflicts import MerchantPayees, check_configurations, check_payees
from foreseal.payments.ledger import PoolerRefused, WrongSchema
from foreseal.payments.ledger.pooler_check import REFUSED, find_pooler
from foreseal.payments.workers.process_name import NameInUse


def read_configuration(path: Path) -> Configuration:
    """Return the configuration in a file; end the command with all of its faults if it is invalid."""
    try:
        return read(path)
    except ConfigurationError as error:
        raise refused(error.problems) from None


def refused(problems: list[str]) -> SystemExit:
    """Print each fault on a line and return the exception to raise."""
    for problem in problems:
        click.echo(f"foreseal: {problem}", err=True)
    return SystemExit(USAGE_ERROR)


@contextmanager
def opening(config: Path) -> Iterator[None]:
    """End the command with a message if a resource of the configuration cannot be opened."""
    try:
        yield
    except ConfigurationError as error:
        raise refused(error.problems) from None
    except (SecretError, WrongSchema, PoolerRefused, NameInUse) as error:
        raise refused([f"{config}: {error}"]) from None
    except SQLAlchemyError as error:
        # The message of the error may contain the URL, and with it a password.
        raise click.ClickException(f"{config}: cannot open the database: {type(error).__name__}") from None


def require_chain(configuration: Configuration, node: ChainNode) -> None:
    """Raise ClickException if the node of a configuration does not respond, or has another chain."""
    url, chain_id = configuration.node.url, configuration.node.chain_id
    try:
        node_chain_id = node.chain_id()
    except ChainError as error:
        raise click.ClickException(f"{url}: {error}") from None
    if node_chain_id != chain_id:
        raise click.ClickException(f"{url}: the node has chain id {node_chain_id}, but node.chain_id is {chain_id}")


def check(files: Sequence[Path]) -> None:
    """Print every error in configuration files and their secrets, then every conflict between them.

    End the command if there is one.
    """
    configurations = [_check_file(file) for file in files]
    try:
        if len(configurations) > 1:
            check_configurations(configurations)
            check_payees([_payees(configuration) for configuration in configurations])
    except ConfigurationError as error:
        raise refused(error.problems) from None


def _payees(configuration: Configuration) -> MerchantPayees:
    payees = frozenset(each.signer.address for each in list_signers(configuration, os.environ))
    return MerchantPayees(configuration.path, configuration.node.chain_id, payees)


def _check_file(file: Path) -> Configuration:
    configuration = read_configuration(file)
    problems: list[str] = []
    account = _check_secret(file, "payee", configuration.payee, problems, account=True)
    for number, destination in enumerate(configuration.destinations):
        _check_secret(file, f"destinations[{number}].payee", destination.payee, problems, account=True)
    _check_secret(file, "facilitator", configuration.facilitator, problems, account=True)
    for number, hook in enumerate(configuration.webhooks):
        _check_secret(file, f"webhooks[{number}]", hook, problems)
    if find_pooler(configuration.database.url):
        problems.append(f"{file}: database.url: {REFUSED}")
    if problems:
        raise refused(problems)
    further = _list_further(configuration) if configuration.destinations else []
    click.echo(f"{file}: valid{f', payee {account}' if account else ''}")
    for each in further:
        click.echo(each)
    return configuration


def _list_further(configuration: Configuration) -> list[str]:
    """Return a line for each destination except the first; end the command if the accounts contradict each other."""
    try:
        signers = list_signers(configuration, os.environ)
    except ConfigurationError as error:
        raise refused(error.problems) from None
    return [
        f"destination {each.destination.name}: payee {each.signer.address}, "
        f"token {each.destination.token.address} ({each.destination.token.symbol})"
        for each in signers[1:]
    ]


def print_template() -> None:
    """Print a configuration file with every key."""
    click.echo(template(), nl=False)


def _check_secret(file: Path, name: str, section: Any, problems: list[str], *, account: bool = False) -> str | None:
    """Check that the secret of a section exists; return the address if it is an account."""
    if section is None:
        return None
    secret: Secret | None = section.secret()
    try:
        if secret is None:
            return str(section.signer(os.environ).address)
        if account:
            return str(secret.account(os.environ).address)
        text = secret.text(os.environ)
        if isinstance(section, WebhookSection):
            decode_secrets(text)
    except ValueError as error:
        problems.append(f"{file}: {name}: {error}")
    return None
