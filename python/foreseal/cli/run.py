"""`foreseal run`: a node on a kept chain."""

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


@click.command("run")
@click.option("--datadir", type=FOLDER, required=True, help="Folder of the chain; made if absent.")
@click.option("--genesis", type=FILE, help="Genesis file in geth's format; needed when the folder is new.")
@click.option("--produce/--no-produce", default=True, show_default=True, help="Produce blocks, or only serve.")
@endpoint_options
@production_options
@store_options
@limit_options
def run_command(host: str, port: int, datadir: Path, **options: Any) -> None:
    """Run a node on the chain in DATADIR and answer JSON-RPC at http://HOST:PORT/.

    After a crash it goes on at the same block and step. SIGTERM and Ctrl-C stop it in good order.
    """
    settings = settings_from(options, datadir=datadir)
    serve_until_stopped(settings, host, port, lambda url: click.echo(f"foreseal: {datadir} answers at {url}"))
