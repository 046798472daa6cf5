"""`foreseal dev`: a development chain in one command."""

import contextlib
import tempfile
from pathlib import Path
from typing import Any

import click

from foreseal.cli.options import (
    FILE,
    FOLDER,
    endpoint_options,
    limit_options,
    production_options,
    settings_from,
    store_options,
)
from foreseal.cli.serving import serve_until_stopped
from foreseal.server import DevChain

_DEFAULT = DevChain()

# All accounts together hold less than 256 bits of wei.
MOST_ETHER = 10**50


@click.command("dev")
@endpoint_options
@click.option("--datadir", type=FOLDER, help="Keep the chain in this folder.  [default: a temporary one]")
@click.option("--genesis", type=FILE, help="Genesis file in geth's format instead of the development genesis.")
@click.option("--chain-id", type=click.IntRange(1, 2**63 - 1), help=f"Chain id.  [default: {_DEFAULT.chain_id}]")
@click.option("--mnemonic", help="Words that the accounts are derived from.  [default: test test … junk]")
@click.option("--accounts", type=click.IntRange(0, 10_000), help=f"Funded accounts.  [default: {_DEFAULT.accounts}]")
@click.option(
    "--balance", type=click.IntRange(0, MOST_ETHER), help=f"Ether of each account.  [default: {_DEFAULT.balance}]"
)
@production_options
@store_options
@limit_options
def dev_command(
    host: str, port: int, datadir: Path | None, genesis: Path | None, chain_id: int | None, **options: Any
) -> None:
    """Start a development chain: funded accounts, the newest fork's rules, a step every 200 ms.

    Pages of any origin may call it, but only under a loopback host name: its keys are public. Ctrl-C stops it.
    """
    chain = {name: options.pop(name) for name in ("mnemonic", "accounts", "balance")} | {"chain_id": chain_id}
    chain = {name: value for name, value in chain.items() if value is not None}
    if genesis is not None and chain:
        named = " and ".join("--" + name.replace("_", "-") for name in chain)
        raise click.UsageError(f"{named} shape the development genesis and cannot go with --genesis")
    with contextlib.ExitStack() as stack:
        kept = datadir is not None
        if datadir is None:
            datadir = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="foreseal-")))
        dev = None if genesis else DevChain(**chain)
        settings = settings_from(options, datadir=datadir, genesis=genesis, dev=dev, browsers=True, development=True)
        # Derived before the chain starts: wrong words are wrong use.
        banner = make_banner(settings, kept=kept)
        serve_until_stopped(settings, host, port, banner.show)


def make_banner(settings: Any, *, kept: bool) -> Any:
    """The banner of these settings. Raises a usage error for words that are no mnemonic."""
    from foreseal.cli.banner import Banner

    try:
        return Banner(settings, kept=kept)
    except ValueError as error:
        raise click.UsageError(f"--mnemonic: {error}") from None
