"""`foreseal pay serve`: the ledgers of one or several merchants over HTTP, until it is stopped."""

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import uvloop

from foreseal.cli.pay_check import opening, refused
from foreseal.cli.pay_db import print_progress
from foreseal.errors import NodeError
from foreseal.payments.configuration import Configuration, ConfigurationError, read
from foreseal.payments.hosting.conflicts import check_configurations
from foreseal.payments.hosting.merchant_host import MerchantFailed, MerchantHost
from foreseal.payments.ledger import Database
from foreseal.payments.merchant_context import MerchantFilter
from foreseal.payments.telemetry.exporters import ServiceTelemetry
from foreseal.payments.workers.process_name import ProcessName
from foreseal.server import interpreter
from foreseal.server.asgi.granian import GranianListener
from foreseal.server.logs import parse_levels
from foreseal.server.settings.model import LogSettings
from foreseal.server.sockets.listening import bind
from foreseal.telemetry.configuration import installed_configuration


def serve(files: Sequence[Path], level: str, form: str, *, upgrade: bool) -> None:
    """Serve the merchants of configuration files until SIGINT or SIGTERM."""
    try:
        interpreter.configure_interpreter(LogSettings(parse_levels(level), form))
    except ValueError as error:
        raise click.UsageError(f"--log: {error}") from None
    for handler in logging.getLogger().handlers:
        handler.addFilter(MerchantFilter())
    configurations = _read_all(files)
    with _opening(), contextlib.ExitStack() as stack:
        check_configurations(configurations)
        if upgrade:
            _upgrade(configurations)
        telemetry = _start_telemetry(configurations)
        if telemetry is not None:
            stack.callback(telemetry.stop)
        host = MerchantHost(configurations, os.environ, time.time, telemetry)
        stack.callback(host.close)
        stack.callback(host.stop)
        host.start()
        if telemetry is not None:
            telemetry.start_metrics(host.families)
        started = stack.pop_all()
    with started:
        address = configurations[0].serve.listen
        serve_application(host.app, *address, "foreseal pay serve", sorted(host.services), host.stop_waits)


def _start_telemetry(configurations: Sequence[Configuration]) -> ServiceTelemetry | None:
    """Return the exporters; None without an endpoint. End the command if a variable of OTLP is invalid."""
    try:
        otlp = installed_configuration(os.environ)
    except NodeError as error:
        raise refused([error.message]) from None
    return None if otlp is None else ServiceTelemetry(otlp, ProcessName.from_section(configurations[0].serve).name)


def _read_all(files: Sequence[Path]) -> list[Configuration]:
    """Return the configurations of all files; end the command with the faults of all if one is invalid."""
    configurations, problems = [], []
    for file in files:
        try:
            configurations.append(read(file))
        except ConfigurationError as error:
            problems += error.problems
    if problems:
        raise refused(problems)
    return configurations


def _upgrade(configurations: Sequence[Configuration]) -> None:
    for configuration in configurations:
        with opening(configuration.path):
            Database(configuration.database.url, upgrade=True, report=print_progress).close()


@contextlib.contextmanager
def _opening() -> Iterator[None]:
    """End the command with a message if merchants conflict, or one of them cannot be served."""
    try:
        yield
    except ConfigurationError as error:
        raise refused(error.problems) from None
    except MerchantFailed as failure:
        with opening(failure.path):
            raise failure.error from None


def serve_application(
    app: Any,
    host: str,
    port: int,
    name: str,
    merchants: Sequence[str] = (),
    on_stop: Callable[[], None] = lambda: None,
) -> None:
    """Serve an ASGI application on `host`:`port` (0: any free port) with granian until SIGINT or SIGTERM.

    Print the URL once it accepts connections, and those of its merchants. `on_stop` is called on the event loop before
    the listener waits for requests in progress. Raise `AddressError`.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(app, host, port, name, merchants, on_stop))


async def _serve(
    app: Any, host: str, port: int, name: str, merchants: Sequence[str], on_stop: Callable[[], None]
) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    with bind(host, port) as listening:
        listener = GranianListener(app, listening)
        try:
            if await listener.start():
                click.echo(f"{name} at {listener.url}")
                for merchant in merchants:
                    click.echo(f"  {merchant} at {listener.url}/{merchant}")
            assert listener.serving is not None
            stopping = asyncio.ensure_future(stop.wait())
            ends: set[asyncio.Future[Any]] = {stopping, listener.serving}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
        finally:
            on_stop()
            await listener.stop()
