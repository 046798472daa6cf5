"""What `dev` and `run` share."""

import logging
from collections.abc import Callable

import click

from foreseal.server import App, Settings
from foreseal.server.front import serve


def serve_until_stopped(settings: Settings, host: str, port: int, on_listening: Callable[[str], None]) -> None:
    """Run a node and its endpoint in this process until SIGINT or SIGTERM."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    app = App(settings)

    def listening(url: str) -> None:
        on_listening(url)
        if app.admin_url:
            click.echo(f"foreseal: administrators call at {app.admin_url}")

    serve(app, host, port, listening)
