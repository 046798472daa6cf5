"""Run one application in this process until a signal ends it: alone, as a worker, or without endpoint."""

import asyncio
import signal
import socket
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

import uvloop

from foreseal.errors import NodeError
from foreseal.server.app import App
from foreseal.server.native import NativeListener
from foreseal.server.processes.shared_socket import RETIRE_SIGNAL, SharedSocket
from foreseal.server.settings.model import STOP_MARGIN
from foreseal.server.sockets.listening import ASGI, NATIVE, bind, listen, raise_connection_limit
from foreseal.server.sockets.tls import TlsFiles

# Seconds in which each client of a draining worker may send one more request, whose response closes its connection. A
# connection that stays silent is then closed, like any idle one.
RETIRE_TIME = 5.0
# Seconds after which a worker accepts connections even if it has not caught up with the sequencer.
CATCH_UP_TIME = 10.0
# Longest time in seconds for a listener without calls in progress to end.
_ENDING = 0.2

Callback = Callable[[], None]


class Listener(Protocol):
    """A listener of either transport."""

    url: str
    serving: "asyncio.Future[None] | None"

    async def start(self) -> bool:
        """Start to serve; return False if it ended at once."""

    async def stop(self, seconds: float = ...) -> None:
        """Accept no more connections and wait for its end, at most `seconds`."""


def serve(
    app: App,
    host: str,
    port: int,
    on_listening: Callable[[str], None],
    tls: TlsFiles | None = None,
    transport: str = NATIVE,
) -> None:
    """Start the application, serve on `host`:`port` (0: any free port) until SIGINT or SIGTERM, and stop in good order.

    `transport` is one of `TRANSPORTS`. `on_listening` gets the URL once requests are answered. Raises `AddressError`,
    and the exceptions of `App.startup` and `App.wait_until_ready`: a node whose journal cannot be replayed ends the
    server.
    """
    if transport == ASGI:
        from foreseal.server.asgi.granian import MAX_CONCURRENT_SENDS, GranianListener

        app.max_concurrent_sends = MAX_CONCURRENT_SENDS
        _run(
            _serve(
                app,
                bind,
                (host, port),
                on_listening,
                lambda held: GranianListener(app, held, tls, raise_connection_limit(app.max_connections)),
            )
        )
        return
    _run(_serve(app, listen, (host, port), on_listening, lambda held: _native(app, held, tls)))


def serve_shared(
    app: App,
    shared: SharedSocket,
    on_listening: Callback,
    on_ready: Callback,
    tls: TlsFiles | None = None,
) -> None:
    """Serve with the native transport, as `serve` does, on a socket that other processes accept from as well.

    It accepts once the application has started, and after `CATCH_UP_TIME` in any case: health checks are answered
    during a long replay. It is stopped by SIGTERM, or by `RETIRE_SIGNAL`, which first lets its clients move to the
    other processes. `on_ready` is called when the application has started.
    """
    _run(_serve_shared(app, shared, on_listening, on_ready, tls))


def serve_admin_only(app: App, on_open: Callback, on_ready: Callback) -> None:
    """Start the application, whose only endpoint is that for administrators, and stop it on SIGTERM."""
    _run(_hold(app, on_open, on_ready))


def _run(work: Coroutine[Any, Any, None]) -> None:
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(work)
    except NodeError as error:
        # A signal ended the wait for another node's snapshot: a stop as requested.
        if error.kind != "stopped":
            raise


def _native(app: App, listening: socket.socket, tls: TlsFiles | None) -> NativeListener:
    """Create the listener after the application has started."""
    return NativeListener(app.endpoint, listening, tls, raise_connection_limit(app.max_connections))


async def _serve(
    app: App,
    open_socket: Callable[[str, int], socket.socket],
    address: tuple[str, int],
    on_listening: Callable[[str], None],
    make: Callable[[socket.socket], Listener],
) -> None:
    stop = _on(signal.SIGINT, signal.SIGTERM, again=app.skip_drain)
    _limit_stop(app, signal.SIGINT, signal.SIGTERM)
    # Before any resource is opened.
    with open_socket(*address) as listening:
        await app.startup()
        try:
            if not stop.is_set():
                listener = make(listening)
                try:
                    if await listener.start():
                        on_listening(listener.url)
                    await _until((stop,), app, [listener.serving])
                finally:
                    await app.begin_stop()
                    await _end(app, listener)
        finally:
            await app.shutdown()


async def _serve_shared(
    app: App,
    shared: SharedSocket,
    on_listening: Callback,
    on_ready: Callback,
    tls: TlsFiles | None,
) -> None:
    stop, retire = _on(signal.SIGTERM, again=app.skip_drain), _on(RETIRE_SIGNAL)
    _limit_stop(app, signal.SIGTERM)
    with shared.listening:
        await app.startup()
        try:
            # Other processes accept meanwhile: no client reaches a process without a chain while another has it.
            await _first(
                stop.wait(),
                retire.wait(),
                app.wait_until_ready(),
                app.wait_until_failed(),
                asyncio.sleep(CATCH_UP_TIME),
            )
            listener = _native(app, shared.listening, tls)
            try:
                if await listener.start():
                    on_listening()
                failure = asyncio.ensure_future(app.wait_until_failed())
                await _until((stop, retire), app, [listener.serving, failure], on_ready)
                if failure.done():
                    failure.result()
                failure.cancel()
            finally:
                if retire.is_set():
                    listener.stop_accepting()
                    await app.retire()
                    await _first(stop.wait(), shared.wait_until_unused(RETIRE_TIME))
                else:
                    await app.begin_stop()
                await _end(app, listener)
        finally:
            await app.shutdown()


async def _end(app: App, listener: Listener) -> None:
    # granian would cut the WebSockets.
    await app.drain(app.disconnect())
    # Cancelled before its end, it would log an error; without calls in progress it ends at once.
    await app.drain(listener.stop(app.time_left()), _ENDING)


async def _hold(app: App, on_open: Callback, on_ready: Callback) -> None:
    stop = _on(signal.SIGTERM)
    _limit_stop(app, signal.SIGTERM)
    await app.startup()
    try:
        on_open()
        await _until((stop,), app, [], on_ready)
    finally:
        await app.shutdown()


def _limit_stop(app: App, *numbers: int) -> None:
    """Exit with code 1 when a stop by one of these signals exceeds its time, even if a thread is blocked."""
    from foreseal._core import start_stop_watchdog

    start_stop_watchdog(numbers, app.stop_time, STOP_MARGIN / 1000)


def _on(*numbers: int, again: Callback | None = None) -> asyncio.Event:
    """Return an event that is set by the first of these signals; `again` is called for each further one."""
    event = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if event.is_set() and again is not None:
            again()
        event.set()

    for number in numbers:
        loop.add_signal_handler(number, on_signal)
    return event


async def _until(
    stops: tuple[asyncio.Event, ...],
    app: App,
    others: Sequence["asyncio.Future[None] | None"],
    on_ready: Callback | None = None,
) -> None:
    """Wait until a stop, or until one of `others` is done. Raises errors of the application's start."""
    stopping = [asyncio.ensure_future(stop.wait()) for stop in stops]
    starting = asyncio.ensure_future(app.wait_until_ready())
    ending: set[asyncio.Future[Any]] = {*stopping, *(other for other in others if other is not None)}
    try:
        await asyncio.wait({*ending, starting}, return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            if on_ready is not None:
                on_ready()
            await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for future in (*stopping, starting):
            future.cancel()


async def _first(*works: Coroutine[Any, Any, Any]) -> None:
    """Wait for the first of them, and cancel the others."""
    tasks = [asyncio.ensure_future(work) for work in works]
    done, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in rest:
        task.cancel()
    for task in done:
        task.result()
