"""Shared code of `dev` and `run`."""

from collections.abc import Callable

import click

from foreseal.cli.port_hint import port_hint
from foreseal.server import App, Settings, interpreter
from foreseal.server.runner import serve


def serve_until_stopped(settings: Settings, on_listening: Callable[[str], None]) -> None:
    """Run a node and its endpoint in this process until SIGINT or SIGTERM."""
    interpreter.configure_interpreter(settings.log)
    app = App(settings)

    def listening(url: str) -> None:
        on_listening(url)
        if app.admin_url:
            click.echo(f"foreseal: admin listener at {app.admin_url}")
        if app.engine_url:
            click.echo(f"foreseal: Engine API at {app.engine_url}")
        if app.explorer_url:
            click.echo(f"foreseal: explorer at {app.explorer_url}")

    listen = settings.listen
    with port_hint(listen.port):
        serve(app, listen.host, listen.port, listening, listen.tls, listen.transport)
