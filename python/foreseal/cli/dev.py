"""`foreseal dev`: a development chain in one command."""

import contextlib
import tempfile
from pathlib import Path
from typing import Any

import click

from foreseal.cli.banner import Banner
from foreseal.cli.options import gathered, setting_options, settings_of
from foreseal.cli.serving import serve_until_stopped


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
        serve_until_stopped(settings, banner.show)
