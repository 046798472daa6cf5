"""The ASGI application: a thin adapter over the handler, and the lifecycle of the node behind it."""

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from foreseal.errors import NodeError
from foreseal.pages import StaticSite
from foreseal.rpc import Dispatcher, Limits, Registry
from foreseal.rpc.core_protocol import Core
from foreseal.rpc.rate_limiter import Clock
from foreseal.rpc.registry import Function
from foreseal.server.asgi.body_timeouts import BodyTimeouts
from foreseal.server.asgi.endpoint import AsgiEndpoint
from foreseal.server.asgi.protocol import Receive, Scope, Send
from foreseal.server.auth.callers import Callers, SingleCaller
from foreseal.server.auth.keys import KEY_FILE, KeyFileError, KeyStore
from foreseal.server.auth.tiers import CallerTier, build_tiers, with_other_paths
from foreseal.server.endpoint import Endpoint
from foreseal.server.http.handler import HttpHandler
from foreseal.server.processes.heartbeat import HeartbeatSender
from foreseal.server.processes.process_table import ProcessTable
from foreseal.server.processes.rate_limit_memory import slot_count
from foreseal.server.settings import Settings, SettingsError, from_environment
from foreseal.server.settings.access import CACHED_CALLERS, RATE_LIMITED_CALLERS
from foreseal.server.settings.model import DEDICATED, DRAIN_TIME
from foreseal.server.sockets.address import AddressError
from foreseal.server.sockets.listening import listen
from foreseal.server.websocket.connections import WebSocketConnections
from foreseal.telemetry.configuration import TelemetryConfiguration, installed_configuration

if TYPE_CHECKING:
    from foreseal.server.explorer_listener import ExplorerListener

log = logging.getLogger(__name__)

# Seconds between two reports of a follower's metrics.
_REPORT_INTERVAL = 1.0
# Seconds between two checks of a starting node.
_STARTUP_CHECK_INTERVAL = 0.05
# Seconds between two checks of a running node.
_HEALTH_CHECK_INTERVAL = 1.0
# Seconds that are enough to detect that no calls are in progress.
_MIN_DRAIN_TIME = 0.1


def _monotonic() -> int:
    return time.monotonic_ns() // 1000


def _node(settings: bytes) -> Any:
    # Imported here so that a process which only supervises nodes does not load it.
    from foreseal._core import Node

    return Node(settings)


def _bind_admin(admin: tuple[str, int] | Path | None) -> socket.socket | Path | None:
    """Prepare the address of the admin listener, and return its socket or path. Raises `AddressError`."""
    if not isinstance(admin, Path):
        return listen(*admin) if admin else None
    from foreseal.server.native.unix_listener import free_path

    free_path(admin)
    return admin


class App:
    """A node and its endpoint as an ASGI application.

    Under granian or uvicorn it reads its settings from FORESEAL_* variables and the file that FORESEAL_CONFIG names,
    and the server's lifespan starts and stops the node. The argument `settings` replaces both sources. The application
    opens its own admin listener, if configured, under any ASGI server.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        make_node: Callable[[bytes], Any] | None = None,
        role: Mapping[str, str | int] | None = None,
        buckets: int | None = None,
        clock: Clock = _monotonic,
        *,
        heartbeats: HeartbeatSender | None = None,
        processes: ProcessTable | None = None,
        explorer: socket.socket | None = None,
    ) -> None:
        """Create the application.

        `make_node` opens the node from settings as JSON; tests pass a double of `_core.Node`. `role` are additional
        settings of the core: the role in a node of several processes. `buckets` is a descriptor of the memory for their
        shared rate limits (see `create_rate_limit_memory`), and `clock` is their clock. `heartbeats` go to the
        supervisor of those processes, and `processes` has the metrics of all. `explorer` is the socket of the listener
        for the explorer, which they share.
        """
        self.registry = Registry()
        self.admin_url: str | None = None
        """Admin URL while the application runs; None without an admin listener."""
        self.explorer_url: str | None = None
        """URL of the explorer while the application runs, if it has a listener of its own."""
        self.engine_url: str | None = None
        """URL of the Engine API while the application runs; None without a driver."""
        self.max_concurrent_sends = 1
        """Messages that each WebSocket may start sending at once.

        Values above 1, set before `startup`, need an ASGI server that sends messages in the order of the calls. The
        protocol does not guarantee that order.
        """
        self._settings = settings
        self._make_node = make_node
        self._role = role or {}
        self._buckets = buckets
        self._clock = clock
        self._heartbeats = heartbeats
        self._processes = processes
        self._node: Any = None
        self._max_connections = Limits().open
        # Seconds; set from the settings in `startup`.
        self._drain_time, self._drain_delay = DRAIN_TIME / 1000, 0.0
        # Deadline for calls in progress on the loop's clock; None until a stop begins.
        self._drain_deadline: float | None = None
        self._drain_skipped = asyncio.Event()
        self._dispatcher: Dispatcher | None = None
        self._endpoint: AsgiEndpoint | None = None
        self._bodies: BodyTimeouts | None = None
        self._connections: WebSocketConnections | None = None
        self._callers: Callers | None = None
        self._admin: Any = None
        self._explorer: ExplorerListener | None = None
        self._explorer_socket = explorer
        self._telemetry: Any = None

    def method(self, name: str) -> Callable[[Function], Function]:
        """Register the decorated function as the JSON-RPC method `name`: see `Registry.method`."""
        return self.registry.method(name)

    async def startup(self) -> None:
        """Open the node and start it; requests are answered while its journal is replayed.

        Raises `SettingsError`, `NodeError` and `AddressError`.
        """
        if self._heartbeats is not None:
            self._heartbeats.start()
        settings = self._settings or from_environment(os.environ)
        telemetry = installed_configuration(os.environ)
        with contextlib.ExitStack() as stack:
            # Before any resource is opened.
            admin = _bind_admin(settings.admin)
            if isinstance(admin, socket.socket):
                stack.enter_context(admin)
            if settings.explorer_listen is not None and self._explorer_socket is None:
                self._explorer_socket = listen(*settings.explorer_listen)
            await self._startup(settings, admin)
            if telemetry is not None:
                await self._start_telemetry(telemetry, settings)

    async def _startup(self, settings: Settings, admin: socket.socket | Path | None) -> None:
        # Opening reads the journal's segments; a thread keeps the loop free to handle signals.
        node = await asyncio.to_thread(self._make_node or _node, settings.for_core(self._role))
        try:
            tiers, callers = self._open_access(settings, node)
        except NodeError:
            await asyncio.to_thread(node.stop)
            raise
        dispatcher = tiers[DEDICATED].dispatcher
        loop = asyncio.get_running_loop()
        dispatcher.router.completions.attach(loop)
        dispatcher.router.completions.hub.deferred.max_bytes = settings.process_memory // 2
        node.start()
        engine = node.engine_address()
        self.engine_url = None if engine is None else f"http://{engine}"
        if self._heartbeats is not None:
            self._heartbeats.node = node
        self._node, self._dispatcher, self._max_connections = node, dispatcher, settings.limits.open
        self._bodies = bodies = BodyTimeouts(loop, settings.limits.wait)
        self._connections = connections = WebSocketConnections(
            dispatcher.router.completions.hub, settings.limits, loop, self.max_concurrent_sends
        )
        self._drain_time, self._drain_delay = settings.drain_time / 1000, settings.drain_delay / 1000
        site = StaticSite("explorer") if settings.is_explorer_public else None
        handler = HttpHandler(node, callers, settings, connections, processes=self._processes, site=site)
        self._endpoint = AsgiEndpoint(handler, bodies, connections)
        if "follow" in self._role:
            loop.call_soon(self._report, loop, handler)
        self._callers = callers
        callers.watch_keys(loop, connections.close_invalid_keys)
        try:
            if self._explorer_socket is not None:
                await self._open_explorer(settings, callers, connections, self._explorer_socket)
            if admin is not None:
                await self._open_admin(settings, dispatcher, self._endpoint, admin)
        except AddressError:
            await self.shutdown()
            raise

    async def _start_telemetry(self, configuration: TelemetryConfiguration, settings: Settings) -> None:
        # Imported only if it is configured: it needs an extra.
        from foreseal.server.telemetry.telemetry import Telemetry

        handler = self.endpoint.handler
        self._telemetry = Telemetry(configuration, self._node.waiting, settings.log.process)
        handler.tracer = self._telemetry.tracer
        if self._explorer is not None:
            self._explorer.handler.tracer = self._telemetry.tracer
        self._telemetry.start(handler.metric_sources)

    def _report(self, loop: asyncio.AbstractEventLoop, handler: HttpHandler) -> None:
        """Send the metrics of this process to the sequencer, periodically while it runs."""
        if self._node is not None:
            # Scheduled first, so that a failed report, for example for lack of a descriptor, is not the last one.
            loop.call_later(_REPORT_INTERVAL, self._report, loop, handler)
            self._node.report(handler.metrics().encode())

    def _open_access(self, settings: Settings, node: Any) -> tuple[dict[str, CallerTier], Callers]:
        """Create tiers and callers. Raises `NodeError`."""
        from foreseal._core import Buckets, development_method_names, method_names
        from foreseal._core import Caller as ScheduledCaller

        try:
            tiers = build_tiers(settings, node, self.registry, method_names(), development_method_names())
            keys = KeyStore(settings.datadir / KEY_FILE, time.time)
        except KeyFileError as error:
            # Not a usage error: the file may be repaired when the process is restarted.
            raise NodeError("keys", str(error)) from None
        except SettingsError as error:
            raise NodeError("settings", str(error)) from None
        access, clock = settings.access, self._clock
        buckets = Buckets(self._buckets, slot_count(settings.scaled_entries(RATE_LIMITED_CALLERS)))
        callers = Callers(
            tiers,
            keys,
            buckets,
            clock,
            lambda name, dedicated, cpu, burst, calls, max_calls: ScheduledCaller(
                name, dedicated, buckets, cpu, burst, calls, max_calls, None if clock is _monotonic else clock
            ),
            public=settings.public,
            proxies=access.trusted_proxies,
            wrong_keys=(access.wrong_key_rate, access.wrong_key_burst),
            cache_size=settings.scaled_entries(CACHED_CALLERS),
        )
        return tiers, callers

    async def _open_explorer(
        self, settings: Settings, callers: Callers, connections: WebSocketConnections, listening: socket.socket
    ) -> None:
        # Imported only if there is such a listener.
        from foreseal.server.explorer_listener import ExplorerListener

        self._explorer = ExplorerListener(listening, settings, self._node, callers, connections, self._processes)
        await self._explorer.start()
        self.explorer_url = self._explorer.url

    async def _open_admin(
        self,
        settings: Settings,
        dispatcher: Dispatcher,
        public: Endpoint,
        address: socket.socket | Path,
    ) -> None:
        # Imported only if there is an admin listener.
        from foreseal.server.native import NativeListener
        from foreseal.server.native.unix_listener import UnixListener

        node = self._node.for_admin()

        def answering(core: Core) -> Dispatcher:
            return Dispatcher(
                core,
                settings.limits,
                self.registry,
                completions=dispatcher.router.completions,
                call_metrics=dispatcher.call_metrics,
                tier="admin",
                filters=dispatcher.router.filters,
            )

        tier = CallerTier("admin", settings.limits, answering(node))
        administrators = SingleCaller(with_other_paths(tier, node, answering))
        handler = HttpHandler(
            node,
            administrators,
            settings,
            public.connections,
            admin=True,
            processes=self._processes,
            public_handler=public.handler,
        )
        endpoint = Endpoint(handler, public.connections)
        if isinstance(address, Path):
            self._admin = UnixListener(endpoint, address)
        else:
            # The caller closes the socket itself at the end of the startup, even after an error.
            self._admin = NativeListener(endpoint, address.dup())  # noqa: ASYNC240 - of a socket
        if not await self._admin.start():
            raise AddressError(f"cannot listen on {self._admin.url}")
        self.admin_url = self._admin.url

    @property
    def endpoint(self) -> AsgiEndpoint:
        """The endpoint, from `startup` to `shutdown`. Raises RuntimeError outside."""
        if self._endpoint is None:
            raise RuntimeError("the application is not started: the server must run the ASGI lifespan")
        return self._endpoint

    @property
    def max_connections(self) -> int:
        """Most connections that the server may have open, from `startup` on."""
        return self._max_connections

    async def wait_until_ready(self) -> None:
        """Wait until the journal is replayed. Raises `NodeError` with the reason if that fails.

        A follower waits until it has caught up with the sequencer, without a time limit.
        """
        while self._node is not None and not self._node.ready()[0]:
            good, reason = self._node.health()
            if not good and "follow" not in self._role:
                raise NodeError("start", reason)
            await asyncio.sleep(_STARTUP_CHECK_INTERVAL)

    async def wait_until_failed(self) -> None:
        """Wait until this follower can no longer follow, and raise `NodeError`: a restarted process may be able to.

        Damage of the store is not a reason: a restarted process would read the same file.
        """
        while self._node is not None:
            status = orjson.loads(self._node.status())
            if status.get("phase") == "failed" and self._node.damage() is None:
                raise NodeError("follow", status["reason"])
            await asyncio.sleep(_HEALTH_CHECK_INTERVAL)

    async def begin_stop(self) -> None:
        """Report on `/readyz` that the node stops, and close connections with their next response.

        Then wait for the delay that load balancers get to notice; calls are still answered.
        """
        self._end_heartbeats()
        if self._node is not None:
            self._node.end_commands()
        if self._endpoint is not None:
            self._endpoint.stop()
        if self._explorer is not None:
            self._explorer.begin_stop()
        await self.drain(asyncio.sleep(self._drain_delay))

    def _end_heartbeats(self) -> None:
        if self._heartbeats is not None:
            self._heartbeats.stop()

    @property
    def stop_time(self) -> float:
        """Longest time in seconds from a stop signal to the end of the process. Raises `SettingsError`."""
        return (self._settings or from_environment(os.environ)).stop_time

    def time_left(self) -> float:
        """Return the seconds left for calls in progress, at least enough to detect that there are none.

        All stages of a stop share this time; it starts with the first call.
        """
        now = asyncio.get_running_loop().time()
        if self._drain_deadline is None:
            self._drain_deadline = now + self._drain_time
        return max(self._drain_deadline - now, _MIN_DRAIN_TIME)

    def skip_drain(self) -> None:
        """Stop waiting for calls in progress and clients: the node stops as soon as it can in good order."""
        self._drain_skipped.set()

    async def drain(self, work: Coroutine[Any, Any, None], grace: float = 0.0) -> None:
        """Wait for `work`; cancel it `grace` seconds after `skip_drain` is called."""
        task, skip = asyncio.ensure_future(work), asyncio.ensure_future(self._drain_skipped.wait())
        try:
            await asyncio.wait({task, skip}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({task}, timeout=grace)
        finally:
            skip.cancel()
            if not task.done():
                task.cancel()
        if not task.cancelled() and task.done():
            task.result()

    async def disconnect(self) -> None:
        """Close all WebSockets with 1001 after their calls in progress, and accept no more.

        A server that closes connections itself must not do so before.
        """
        connections, self._connections = self._connections, None
        if connections is not None:
            await connections.stop(self.time_left())

    async def retire(self) -> None:
        """Call `disconnect`, and close each connection with its next response: clients reconnect elsewhere."""
        if self._endpoint is not None:
            self._endpoint.drain()
        if self._explorer is not None:
            self._explorer.retire()
        await self.disconnect()
        # Calls from now on have the whole drain time when the process is stopped.
        self._drain_deadline = None

    async def shutdown(self) -> None:
        """Let calls in progress finish, then stop the node: it saves its pool and closes its journal.

        Raises the error that ended the admin listener.
        """
        self._end_heartbeats()
        if self._dispatcher is None or self._bodies is None:
            return
        if self._node is not None:
            self._node.end_commands()
        await self.drain(self.disconnect())
        if self._telemetry is not None:
            await self._telemetry.stop()
        if self._callers is not None:
            self._callers.stop()
        self._bodies.stop()
        completions = self._dispatcher.router.completions
        try:
            await self.drain(asyncio.wait_for(completions.wait_until_idle(), self.time_left()))
        except TimeoutError:
            log.warning("calls still running at shutdown", extra={"calls": len(completions)})
        admin, self._admin, self.admin_url = self._admin, None, None
        explorer, self._explorer, self.explorer_url = self._explorer, None, None
        try:
            if explorer is not None:
                await self.drain(explorer.stop(self.time_left()))
            if admin is not None:
                await self.drain(admin.stop())
        finally:
            completions.detach()
            node, self._node, self._dispatcher, self._endpoint = self._node, None, None, None
            await asyncio.to_thread(node.stop)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope: http, websocket or lifespan."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        await self.endpoint(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.startup()
        except (SettingsError, NodeError, AddressError) as error:
            await send({"type": "lifespan.startup.failed", "message": f"foreseal: {error}"})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.shutdown()
        await send({"type": "lifespan.shutdown.complete"})
