"""Options of commands that use the engine of a quorum journal."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
import orjson

from foreseal.cli.options import FILE, option
from foreseal.server.settings import SettingsError
from foreseal.server.settings.cluster_options import ClusterOptions

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_CREDENTIALS = ("journal_ca", "journal_cert", "journal_key", "journal_user", "journal_password_file")


def credential_options(command: Decorated) -> Decorated:
    """Add the options with the credentials for etcd, as those of `foreseal run`."""
    for name in reversed(_CREDENTIALS):
        command = option(f"cluster.{name}")(command)
    return command


def chain_options(command: Decorated) -> Decorated:
    """Add the options that name the chain, if etcd has several below the prefix."""
    command = click.option(
        "--chain", "chain_id", type=click.IntRange(1), metavar="ID", help="Chain id.  [default: the only chain]"
    )(command)
    return click.option("--genesis", type=FILE, help="Genesis file of the chain.  [default: the only chain]")(command)


def target_json(
    url: str,
    credentials: Mapping[str, Any],
    *,
    genesis: Path | None = None,
    chain_id: int | None = None,
    force: bool = False,
) -> bytes:
    """Return the engine and the chain of a command as the core expects them. Raises UsageError for half of a pair."""
    fields = {name: value for name, value in credentials.items() if value is not None}
    try:
        journal = ClusterOptions(journal=url, journal_force=force, **fields).for_core("")["journal"]
    except SettingsError as error:
        raise click.UsageError(str(error)) from None
    path = None if genesis is None else str(genesis)
    return orjson.dumps({"journal": journal, "genesis": path, "chain_id": chain_id})
