"""`foreseal run`: a node on a persistent chain."""

import dataclasses
from pathlib import Path
from typing import Any

import click

from foreseal.cli.help import GroupedCommand
from foreseal.cli.options import build_settings, gathered, setting_options
from foreseal.cli.port_hint import port_hint
from foreseal.server.settings import SettingsError
from foreseal.server.sockets.listening import ASGI


@click.command(
    "run",
    cls=GroupedCommand,
    command="run",
    examples=(
        ("create a chain and produce blocks", "foreseal run --datadir ./chain --genesis genesis.json"),
        ("serve with four processes", "foreseal run --datadir ./chain --workers 4"),
        ("run a public node with an admin listener", "foreseal run --config node.toml --public --admin 127.0.0.1:8549"),
    ),
)
@setting_options("run")
def run_command(config: Path | None, **options: Any) -> int:
    """Run a node on the chain in --datadir and serve JSON-RPC at http://HOST:PORT/.

    After a crash it resumes at the same block and step. SIGTERM and Ctrl-C shut it down gracefully. With several
    workers, SIGHUP replaces them one by one.
    """
    settings = build_settings(gathered("run", config, options))
    if settings.public and settings.listen.transport == ASGI:
        click.echo(
            "foreseal: warning: a public node with the asgi transport requires a proxy: see docs/operate/transports.md",
            err=True,
        )

    def listening(url: str) -> None:
        click.echo(f"foreseal: serving {settings.datadir} at {url} ({settings.listen.transport} transport)")

    if settings.listen.workers == 1:
        # Each branch imports only its own modules: the supervisor loads neither a server nor the core.
        from foreseal.cli.serve import serve_until_stopped

        serve_until_stopped(settings, listening)
        return 0
    from foreseal.server import interpreter
    from foreseal.supervisor.supervisor import supervise

    interpreter.configure_interpreter(dataclasses.replace(settings.log, process="supervisor"))
    try:
        with port_hint(settings.listen.port):
            return supervise(
                settings,
                listening,
                lambda url: click.echo(f"foreseal: admin listener at {url}"),
                lambda url: click.echo(f"foreseal: explorer at {url}"),
            )
    except SettingsError as error:
        raise click.UsageError(str(error)) from None
