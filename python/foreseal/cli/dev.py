"""`foreseal dev`: a development chain in one command."""

import contextlib
import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import click

from foreseal.cli.banner import Banner
from foreseal.cli.help import GroupedCommand
from foreseal.cli.options import build_settings, gathered, setting_options
from foreseal.cli.serve import serve_until_stopped
from foreseal.server.settings import DevChain, Settings


@click.command(
    "dev",
    cls=GroupedCommand,
    command="dev",
    examples=(
        ("seal each transaction at once, for tests", "foreseal dev --automine"),
        ("use any free port and steps of 100 ms", "foreseal dev --port 0 --step 100ms"),
        ("retain the chain in a folder", "foreseal dev --datadir ./chain"),
        ("deploy the payment contracts", "foreseal dev --payments"),
    ),
)
@setting_options("dev")
def dev_command(config: Path | None, **options: Any) -> None:
    """Start a development chain: funded accounts, the newest fork's rules, a step every 200 ms.

    CORS allows loopback origins; the Host header must be a loopback name, because the keys are public. Ctrl-C stops it.
    """
    values = gathered("dev", config, options)
    with contextlib.ExitStack() as stack:
        persistent = values.values["node.datadir"].value is not None
        folder = None
        if not persistent:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="foreseal-")))
        settings = build_settings(values, folder)
        # The keys are derived before the chain starts, so that an invalid mnemonic is a usage error.
        try:
            banner = Banner(settings, persistent=persistent)
        except ValueError as error:
            raise click.UsageError(f"{values.values['dev.mnemonic'].where()}: {error}") from None
        if settings.dev and settings.dev.payments:
            try:
                settings = _with_payments(settings, settings.dev, banner)
            except ValueError as error:
                raise click.UsageError(f"{values.values['dev.payments'].where()}: {error}") from None
        serve_until_stopped(settings, banner.show)


def _with_payments(settings: Settings, dev: DevChain, banner: Banner) -> Settings:
    """Return settings of the same chain with the payment contracts."""
    from foreseal.payments.contracts.development import DevelopmentContracts

    banner.people = people = DevelopmentContracts.from_accounts(banner.addresses)
    return dataclasses.replace(settings, alloc=people.alloc(dev.chain_id))
