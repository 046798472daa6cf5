"""granian inside this process, in front of one application."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable

import uvloop
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.embed import Server

from foreseal.server.app import App

# Requests that wait to be accepted, and that may be in work at once.
BACKLOG = 1024
# Milliseconds after which a connection without a request is closed. granian's 30 s is also the interval at which many
# clients poll: every now and then the close would meet a request on its way, which then fails.
IDLE_TIME = 125_000
# Seconds between two looks whether the server listens already.
_LOOK = 0.01


class AddressError(OSError):
    """An address that cannot be listened on; the message names it and says why."""


def serve(app: App, host: str, port: int, on_listening: Callable[[str], None]) -> None:
    """Start the application, answer on `host`:`port` (0: any free port) until SIGINT or SIGTERM, stop in good order.

    `on_listening` gets the URL once requests are answered. Raises `AddressError`, and what `App.startup` and
    `App.started` raise: a node whose journal cannot be replayed ends the server.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(app, host, port, on_listening))


async def _serve(app: App, host: str, port: int, on_listening: Callable[[str], None]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    address, port = _free_address(host, port)
    await app.startup()
    try:
        if not stop.is_set():
            await _answer(app, address, port, stop, on_listening)
    finally:
        await app.shutdown()


async def _answer(app: App, address: str, port: int, stop: asyncio.Event, on_listening: Callable[[str], None]) -> None:
    server = Server(
        app,
        address=address,
        port=port,
        interface=Interfaces.ASGINL,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=IDLE_TIME),
        websockets=True,
        backlog=BACKLOG,
        log_level=LogLevels.error,
    )
    serving = asyncio.ensure_future(server.serve())
    stopping = asyncio.ensure_future(stop.wait())
    try:
        if await _listens(address, port, serving, stop):
            on_listening(url(address, port))
        starting = asyncio.ensure_future(app.started())
        await asyncio.wait({serving, stopping, starting}, return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        starting.cancel()
    finally:
        stopping.cancel()
        if not serving.done():
            server.stop()  # type: ignore[no-untyped-call]
        await serving


async def _listens(address: str, port: int, serving: asyncio.Future[None], stop: asyncio.Event) -> bool:
    """Wait until the port takes connections; False if the server ends or is stopped before."""
    while not serving.done() and not stop.is_set():
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection(_reachable(address), port)
            writer.close()
            return True
        await asyncio.sleep(_LOOK)
    return False


def url(address: str, port: int) -> str:
    """The URL at which this machine reaches the server."""
    reachable = _reachable(address)
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"


def _reachable(address: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104 - compared with, not bound


def _free_address(host: str, port: int) -> tuple[str, int]:
    """The numeric address of `host` and a port that nobody listens on.

    granian shares its ports between processes (SO_REUSEPORT): without this look a second server would silently take
    half of the first one's requests.
    """
    try:
        family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(where)
            probe.listen(1)
            return str(where[0]), int(probe.getsockname()[1])
    except OSError as error:
        raise AddressError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
