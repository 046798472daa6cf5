"""What `dev` and `run` share."""

import gc
import logging
from collections.abc import Callable

import click

from foreseal.server import App, Settings
from foreseal.server.front import serve

# Objects that come and stay until the collector looks at them, and how often it then looks at older ones. A step that
# many connections hear of makes more than Python's 700 every time, none of them garbage that needs a collector.
_COLLECTED = (20_000, 20, 50)


def serve_until_stopped(settings: Settings, on_listening: Callable[[str], None]) -> None:
    """Run a node and its endpoint in this process until SIGINT or SIGTERM."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # What was imported stays.
    gc.freeze()
    gc.set_threshold(*_COLLECTED)
    app = App(settings)

    def listening(url: str) -> None:
        on_listening(url)
        if app.admin_url:
            click.echo(f"foreseal: administrators call at {app.admin_url}")

    serve(app, settings.listen.host, settings.listen.port, listening)
