"""`foreseal run`: a node on a kept chain."""

from pathlib import Path
from typing import Any

import click

from foreseal.cli.options import gathered, setting_options, settings_of
from foreseal.cli.serving import serve_until_stopped


@click.command("run")
@setting_options("run")
def run_command(config: Path | None, **options: Any) -> None:
    """Run a node on the chain in a folder, --datadir, and answer JSON-RPC at http://HOST:PORT/.

    After a crash it goes on at the same block and step. SIGTERM and Ctrl-C stop it in good order.
    """
    settings = settings_of(gathered("run", config, options))
    serve_until_stopped(settings, lambda url: click.echo(f"foreseal: {settings.datadir} answers at {url}"))
