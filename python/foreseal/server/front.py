"""The server of `foreseal dev` and `foreseal run`: one application in this process, until a signal ends it."""

import asyncio
import signal
from collections.abc import Callable
from typing import Any

import uvloop

from foreseal.server.address import free_address
from foreseal.server.app import App
from foreseal.server.listener import AHEAD, Listener


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
    address, port = free_address(host, port)
    app.ahead = AHEAD
    await app.startup()
    try:
        if not stop.is_set():
            await _answer(app, Listener(app, address, port), stop, on_listening)
    finally:
        await app.shutdown()


async def _answer(app: App, listener: Listener, stop: asyncio.Event, on_listening: Callable[[str], None]) -> None:
    stopping: asyncio.Future[Any] = asyncio.ensure_future(stop.wait())
    try:
        if await listener.start(stop):
            on_listening(listener.url)
        assert listener.serving is not None, "it was started"
        starting: asyncio.Future[Any] = asyncio.ensure_future(app.started())
        await asyncio.wait({listener.serving, stopping, starting}, return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            await asyncio.wait({listener.serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        starting.cancel()
    finally:
        stopping.cancel()
        # granian would cut the WebSockets.
        await app.disconnect()
        await listener.stop()
