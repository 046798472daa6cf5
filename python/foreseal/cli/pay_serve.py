"""`foreseal pay serve`: the merchant's ledger over HTTP, until it is stopped."""

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

import click
import uvloop

from foreseal.cli.pay_check import opening, read_configuration
from foreseal.cli.pay_db import UPGRADE_EVENTS
from foreseal.payments.api.backend import Backend
from foreseal.payments.ledger import Database
from foreseal.payments.workers.service import Service
from foreseal.server import interpreter
from foreseal.server.asgi.granian import GranianListener
from foreseal.server.logs import parse_levels
from foreseal.server.settings.model import LogSettings
from foreseal.server.sockets.listening import bind


def serve(config: Path, level: str, form: str, *, upgrade: bool) -> None:
    """Serve the merchant of a configuration file until SIGINT or SIGTERM."""
    try:
        interpreter.configure_interpreter(LogSettings(parse_levels(level), form))
    except ValueError as error:
        raise click.UsageError(f"--log: {error}") from None
    configuration = read_configuration(config)
    with opening(config):
        if upgrade:
            Database(configuration.database.url, upgrade=True, events=UPGRADE_EVENTS).close()
        backend = Backend.open(configuration, os.environ, time.time)
        service = Service(backend, os.environ)
        service.start()
    try:
        serve_application(service.app, *configuration.serve.listen, "foreseal pay serve")
    finally:
        service.stop()
        backend.close()


def serve_application(app: Any, host: str, port: int, name: str) -> None:
    """Serve an ASGI application on `host`:`port` (0: any free port) with granian until SIGINT or SIGTERM.

    Print the URL once it accepts connections. Raise `AddressError`.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(app, host, port, name))


async def _serve(app: Any, host: str, port: int, name: str) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    with bind(host, port) as listening:
        listener = GranianListener(app, listening)
        try:
            if await listener.start():
                click.echo(f"{name} at {listener.url}")
            assert listener.serving is not None
            stopping = asyncio.ensure_future(stop.wait())
            ends: set[asyncio.Future[Any]] = {stopping, listener.serving}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
        finally:
            await listener.stop()
