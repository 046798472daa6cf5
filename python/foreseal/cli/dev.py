"""`foreseal dev`: a development chain in one command."""

import contextlib
import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import click
import orjson

from foreseal.cli.banner import Banner
from foreseal.cli.options import gathered, setting_options, settings_of
from foreseal.cli.serving import serve_until_stopped
from foreseal.server.settings import DevChain, Settings
from foreseal.server.settings.model import WEI


@click.command("dev")
@setting_options("dev")
def dev_command(config: Path | None, **options: Any) -> None:
    """Start a development chain: funded accounts, the newest fork's rules, a step every 200 ms.

    Pages of any origin may call it, but only under a loopback host name: its keys are public. Ctrl-C stops it.
    """
    values = gathered("dev", config, options)
    with contextlib.ExitStack() as stack:
        kept = values.values["node.datadir"].value is not None
        folder = None
        if not kept:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="foreseal-")))
        settings = settings_of(values, folder)
        # Derived before the chain starts: wrong words are wrong use.
        try:
            banner = Banner(settings, kept=kept)
        except ValueError as error:
            raise click.UsageError(f"{values.values['dev.mnemonic'].where()}: {error}") from None
        if settings.dev and settings.dev.payments:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="foreseal-"))) / "genesis.json"
            try:
                settings = _with_payments(settings, settings.dev, banner, place)
            except ValueError as error:
                raise click.UsageError(f"{values.values['dev.payments'].where()}: {error}") from None
        serve_until_stopped(settings, banner.show)


def _with_payments(settings: Settings, dev: DevChain, banner: Banner, place: Path) -> Settings:
    """Settings of the same chain with the payment contracts, whose genesis is written to `place`."""
    from foreseal.cli.genesis import genesis_of
    from foreseal.payments.contracts.development import Development

    people = Development.of(banner.addresses)
    genesis = genesis_of(dev.chain_id, [(address, dev.balance * WEI) for address in banner.addresses])
    genesis["alloc"] |= people.alloc(dev.chain_id)
    if settings.gas_limit is not None:
        genesis["gasLimit"] = hex(settings.gas_limit)
    place.write_bytes(orjson.dumps(genesis))
    banner.people = people
    return dataclasses.replace(settings, genesis=place)
