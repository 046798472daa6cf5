"""The ASGI application: a thin adapter over the handler, and the life of the node behind it."""

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import orjson

from foreseal.errors import NodeError
from foreseal.rpc import Dispatcher, Limits, Registry
from foreseal.rpc.meter import Clock
from foreseal.rpc.registry import Function
from foreseal.server.address import AddressError
from foreseal.server.bodies import Bodies
from foreseal.server.buckets import slots
from foreseal.server.callers import Anyone, Callers
from foreseal.server.connections import Connections
from foreseal.server.endpoint import Endpoint
from foreseal.server.handler import Handler
from foreseal.server.heartbeat import HeartbeatSender
from foreseal.server.keys import FILE as KEYS
from foreseal.server.keys import KeyFileError, Keys
from foreseal.server.listening import listen
from foreseal.server.process_table import ProcessTable
from foreseal.server.settings import Settings, SettingsError, from_environment
from foreseal.server.settings.model import DEDICATED, DRAIN_TIME
from foreseal.server.tier import Tier, tiers_of
from foreseal.server.websocket import Receive, Scope, Send

log = logging.getLogger(__name__)

# Seconds between two reports of a follower's figures.
_REPORT = 1.0
# Seconds between two looks at a node that starts.
_LOOK = 0.05
# Seconds between two looks at one that runs.
_LOOK_AGAIN = 1.0
# Seconds in which a stop sees that there are no calls under way.
_LEAST_TIME = 0.1


def _monotonic() -> int:
    return time.monotonic_ns() // 1000


def _node(settings: bytes) -> Any:
    # Imported where a node runs: who only starts processes of nodes does not load it.
    from foreseal._core import Node

    return Node(settings)


def _place_of(admin: tuple[str, int] | Path | None) -> socket.socket | Path | None:
    """What the admin listener will answer on, if anything can listen there. Raises `AddressError`."""
    if not isinstance(admin, Path):
        return listen(*admin) if admin else None
    from foreseal.server.unix_listener import free_path

    free_path(admin)
    return admin


class App:
    """A node and its endpoint as an ASGI application.

    Served by granian or uvicorn it takes its settings from FORESEAL_* variables and the file that FORESEAL_CONFIG
    names, and the server's lifespan starts and stops the node. `settings` given here take the place of both. The admin
    listener, if there is to be one, is the application's own, whichever server is in front.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        make_node: Callable[[bytes], Any] | None = None,
        role: Mapping[str, str] | None = None,
        buckets: int | None = None,
        clock: Clock = _monotonic,
        *,
        heartbeats: HeartbeatSender | None = None,
        processes: ProcessTable | None = None,
    ) -> None:
        """`make_node` opens the node from settings as JSON; tests put a double of `_core.Node` in its place.

        `role` is what the core is told beside the settings: which part of a node of several processes it is. `buckets`
        is a descriptor of the memory in which those keep the rates of callers together: see `shared_memory`. `clock`
        measures them. `heartbeats` go to the supervisor of those processes, and `processes` has the figures of all.
        """
        self.registry = Registry()
        self.admin_url: str | None = None
        """Where administrators call, while it runs; None without an admin listener."""
        self.ahead = 1
        """Messages that each WebSocket may begin to send at once. More than one, set before `startup`, is for a server
        in front that sends in the order in which sending was begun, which the protocol does not promise."""
        self._settings = settings
        self._make_node = make_node
        self._role = role or {}
        self._buckets = buckets
        self._clock = clock
        self._heartbeats = heartbeats
        self._processes = processes
        self._node: Any = None
        self._open = Limits().open
        # Seconds, as the settings say from `startup` on.
        self._drain_time, self._drain_delay = DRAIN_TIME / 1000, 0.0
        # The moment on the loop's clock until when calls under way may finish; None while nothing stops.
        self._drained_by: float | None = None
        self._hurried = asyncio.Event()
        self._dispatcher: Dispatcher | None = None
        self._endpoint: Endpoint | None = None
        self._bodies: Bodies | None = None
        self._connections: Connections | None = None
        self._callers: Callers | None = None
        self._admin: Any = None

    def method(self, name: str) -> Callable[[Function], Function]:
        """Register the decorated function as the JSON-RPC method `name`: see `Registry.method`."""
        return self.registry.method(name)

    async def startup(self) -> None:
        """Open the node and start it; its journal is replayed while requests are answered already.

        Raises `SettingsError`, `NodeError` and `AddressError`.
        """
        if self._heartbeats is not None:
            self._heartbeats.start()
        settings = self._settings or from_environment(os.environ)
        # Before anything is opened.
        admin = _place_of(settings.admin)
        with admin if isinstance(admin, socket.socket) else contextlib.nullcontext():
            await self._startup(settings, admin)

    async def _startup(self, settings: Settings, admin: socket.socket | Path | None) -> None:
        # Opening reads the journal's segments: off the loop, so that signals are heard meanwhile.
        node = await asyncio.to_thread(self._make_node or _node, settings.for_core(self._role))
        try:
            tiers, callers = self._open_access(settings, node)
        except NodeError:
            await asyncio.to_thread(node.stop)
            raise
        dispatcher = tiers[DEDICATED].dispatcher
        loop = asyncio.get_running_loop()
        dispatcher.calls.completions.attach(loop)
        node.start()
        if self._heartbeats is not None:
            self._heartbeats.node = node
        self._node, self._dispatcher, self._open = node, dispatcher, settings.limits.open
        self._bodies = bodies = Bodies(loop, settings.limits.wait)
        self._connections = connections = Connections(
            dispatcher.calls.completions.hub, settings.limits, loop, self.ahead
        )
        self._drain_time, self._drain_delay = settings.drain_time / 1000, settings.drain_delay / 1000
        handler = Handler(node, callers, settings, connections, processes=self._processes)
        self._endpoint = Endpoint(handler, bodies, connections)
        if "follow" in self._role:
            loop.call_soon(self._report, loop, handler)
        self._callers = callers
        callers.watch(loop, connections.review)
        if admin is not None:
            try:
                await self._open_admin(settings, dispatcher, self._endpoint, admin)
            except AddressError:
                await self.shutdown()
                raise

    def _report(self, loop: asyncio.AbstractEventLoop, handler: Handler) -> None:
        """Tell the sequencer the figures of this process, now and again while it runs."""
        if self._node is not None:
            # First, so that a report which fails, for want of a descriptor say, is not the last one.
            loop.call_later(_REPORT, self._report, loop, handler)
            self._node.report(handler.metrics().encode())

    def _open_access(self, settings: Settings, node: Any) -> tuple[dict[str, Tier], Callers]:
        """What tells callers apart. Raises `NodeError`."""
        from foreseal._core import Buckets, method_names
        from foreseal._core import Caller as ScheduledCaller

        try:
            tiers = tiers_of(settings, node, self.registry, method_names())
            keys = Keys(settings.datadir / KEYS, time.time)
        except KeyFileError as error:
            # Not wrong use: what starts again later may find it mended.
            raise NodeError("keys", str(error)) from None
        except SettingsError as error:
            raise NodeError("settings", str(error)) from None
        access = settings.access
        buckets = Buckets(self._buckets, slots(access.buckets))
        callers = Callers(
            tiers,
            keys,
            buckets,
            self._clock,
            lambda name, dedicated, cpu, burst: ScheduledCaller(name, dedicated, buckets, cpu, burst),
            public=settings.public,
            proxies=access.trusted_proxies,
            wrong_keys=(access.wrong_key_rate, access.wrong_key_burst),
            cache_size=access.caller_cache,
        )
        return tiers, callers

    async def _open_admin(
        self,
        settings: Settings,
        dispatcher: Dispatcher,
        public: Endpoint,
        where: socket.socket | Path,
    ) -> None:
        # Imported only where there is an admin listener.
        from foreseal.server.direct import DirectListener
        from foreseal.server.unix_listener import UnixListener

        node = self._node.for_admin()
        answering = Dispatcher(
            node,
            settings.limits,
            self.registry,
            completions=dispatcher.calls.completions,
            counts=dispatcher.counts,
            tier="admin",
            filters=dispatcher.calls.filters,
        )
        administrators = Anyone(Tier("admin", settings.limits, answering))
        handler = Handler(
            node,
            administrators,
            settings,
            public.connections,
            admin=True,
            processes=self._processes,
            shown=public.handler,
        )
        endpoint = Endpoint(handler, public.bodies, public.connections)
        if isinstance(where, Path):
            self._admin = UnixListener(endpoint, where)
        else:
            # The socket itself is closed at the end of the start, whatever comes of that.
            self._admin = DirectListener(endpoint, where.dup())  # noqa: ASYNC240 - of a socket
        if not await self._admin.start():
            raise AddressError(f"cannot listen on {self._admin.url}")
        self.admin_url = self._admin.url

    @property
    def endpoint(self) -> Endpoint:
        """What answers, from `startup` to `shutdown`. Raises RuntimeError outside."""
        if self._endpoint is None:
            raise RuntimeError("the application was not started: the server must run its lifespan")
        return self._endpoint

    @property
    def open(self) -> int:
        """Most connections that the server in front may have open, from `startup` on."""
        return self._open

    async def started(self) -> None:
        """Wait until the journal is replayed. Raises `NodeError` with the reason if it cannot be.

        A follower waits until it has caught up with the sequencer, however long that is away.
        """
        while self._node is not None and not self._node.ready()[0]:
            good, reason = self._node.health()
            if not good and "follow" not in self._role:
                raise NodeError("start", reason)
            await asyncio.sleep(_LOOK)

    async def unfit(self) -> None:
        """Wait until this follower can follow no more, which another process in its place may. Raises `NodeError`.

        Damage of the store is no such reason: another process would read the same file.
        """
        while self._node is not None:
            status = orjson.loads(self._node.status())
            if status.get("phase") == "failed" and self._node.damage() is None:
                raise NodeError("follow", status["reason"])
            await asyncio.sleep(_LOOK_AGAIN)

    async def begin_stop(self) -> None:
        """Say on `/readyz` that the node stops, and end connections with their next response. Then wait for as long as
        load balancers are given to notice; calls are answered meanwhile."""
        self._end_heartbeats()
        if self._endpoint is not None:
            self._endpoint.stop()
        await self.patiently(asyncio.sleep(self._drain_delay))

    def _end_heartbeats(self) -> None:
        if self._heartbeats is not None:
            self._heartbeats.stop()

    @property
    def stop_time(self) -> float:
        """Seconds from a signal to stop to the end of the process, at most. Raises `SettingsError`."""
        return (self._settings or from_environment(os.environ)).stop_time

    def time_left(self) -> float:
        """Seconds that calls under way still get to finish, never less than it takes to see that there are none.

        One time for all stages of a stop; it begins when this is asked for first.
        """
        now = asyncio.get_running_loop().time()
        if self._drained_by is None:
            self._drained_by = now + self._drain_time
        return max(self._drained_by - now, _LEAST_TIME)

    def hurry(self) -> None:
        """Wait no longer for calls under way, nor for clients: the node stops as soon as it can in good order."""
        self._hurried.set()

    async def patiently(self, work: Coroutine[Any, Any, None], least: float = 0.0) -> None:
        """Wait for `work`; it is given up `least` seconds after `hurry` says so."""
        task, hurried = asyncio.ensure_future(work), asyncio.ensure_future(self._hurried.wait())
        try:
            await asyncio.wait({task, hurried}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({task}, timeout=least)
        finally:
            hurried.cancel()
            if not task.done():
                task.cancel()
        if not task.cancelled() and task.done():
            task.result()

    async def disconnect(self) -> None:
        """Close all WebSockets with 1001, after the calls under way on them; take no more.

        A server that ends connections by itself must not do so before.
        """
        connections, self._connections = self._connections, None
        if connections is not None:
            await connections.stop(self.time_left())

    async def leave(self) -> None:
        """As `disconnect`, and from now on each response ends its connection: clients come back on others."""
        if self._endpoint is not None:
            self._endpoint.leave()
        await self.disconnect()
        # What is answered from now on has the whole time when it is told to stop.
        self._drained_by = None

    async def shutdown(self) -> None:
        """Let calls under way finish, then stop the node: it saves its pool and closes its journal.

        Raises what had ended the admin listener.
        """
        self._end_heartbeats()
        if self._dispatcher is None or self._bodies is None:
            return
        await self.patiently(self.disconnect())
        if self._callers is not None:
            self._callers.stop()
        self._bodies.stop()
        completions = self._dispatcher.calls.completions
        try:
            await self.patiently(asyncio.wait_for(completions.drained(), self.time_left()))
        except TimeoutError:
            log.warning("calls were still running when the server stopped", extra={"calls": len(completions)})
        admin, self._admin, self.admin_url = self._admin, None, None
        try:
            if admin is not None:
                await self.patiently(admin.stop())
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
