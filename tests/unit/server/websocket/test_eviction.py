"""WebSockets near their limit: the caller with the most loses its longest idle one, and a new client is served."""

from pathlib import Path
from typing import Any

import pytest
from websockets.frames import Frame, Opcode

from foreseal.rpc import Limits
from foreseal.server.settings.public_limits import PublicLimits
from foreseal.server.websocket.connections import WebSocketConnections
from native_server import Served, Wire, post, serving

from access_doubles import KeyRing, rated, running
from asgi_client import Closed, connect, ending_of, metrics, until

CALL = Frame(Opcode.TEXT, post("echo").partition(b"\r\n\r\n")[2]).serialize(mask=True)
# Close frame with code 1013.
TRY_AGAIN = b"\x03\xf5evicted in favour of another client"


def connections(served: Served) -> WebSocketConnections:
    """Return all WebSockets of the process."""
    assert served.app._connections is not None
    return served.app._connections


def pass_time(served: Served) -> None:
    """Make all connections idle for one more check interval."""
    connections(served)._timer.cancel()
    connections(served)._check_idle()


async def call(websocket: Any, wire: Wire) -> None:
    wire.written = b""
    websocket.data_received(CALL)
    await until(lambda: b'"result"' in wire.written)


async def test_idlest_connection_of_the_largest_caller_is_evicted() -> None:
    async with serving(public=True, public_limits=PublicLimits(connections=3), access=rated()) as served:
        one, one_wire = await served.websocket("192.0.2.1")
        _, two_wire = await served.websocket("192.0.2.1")
        _, other_wire = await served.websocket("192.0.2.2")
        pass_time(served)
        await call(one, one_wire)
        one_wire.written = b""
        await served.websocket("192.0.2.3")
        await until(lambda: TRY_AGAIN in two_wire.written)
        assert (one_wire.written, other_wire.written) == (b"", b"")
        assert len(connections(served)) == 3
        await until(lambda: not connections(served)._closing)
        assert (await metrics(served.app))["foreseal_connections_evicted_total"] == 1


async def test_new_caller_is_served_while_others_hold_all_connections() -> None:
    """Sixteen addresses with sixteen connections each occupy all connections of public callers."""
    async with serving(public=True, access=rated()) as served:
        for number in range(16):
            for _ in range(16):
                await served.websocket(f"198.51.100.{number}")
        for number in range(20):
            await call(*await served.websocket(f"203.0.113.{number}"))
        assert len(connections(served)) == 256
        assert (await metrics(served.app))["foreseal_connections_refused_total"] == 0


async def test_callers_with_equal_counts_do_not_evict_each_other() -> None:
    async with serving(public=True, public_limits=PublicLimits(connections=2), access=rated()) as served:
        wires = [(await served.websocket(f"192.0.2.{number}"))[1] for number in range(2)]
        http, wire = served.connect("192.0.2.1")
        http.data_received(
            b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        await until(lambda: b" 503 " in wire.written)
        assert not any(TRY_AGAIN in one.written for one in wires)


async def test_key_holders_are_never_evicted_for_public_callers(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path)
    keys = [{"authorization": f"Bearer {ring.add(name)}"} for name in ("one", "two")]
    async with (
        running(tmp_path, public=True, limits=Limits(connections=3), access=rated()) as (app, _),
        connect(app) as public,
        connect(app, headers=keys[0]),
        connect(app, headers=keys[0]) as second,
    ):
        async with connect(app, headers=keys[1]) as third:
            with pytest.raises(Closed, match="evicted in favour") as closed:
                await public.hear()
            assert closed.value.args[0] == 1013
            assert await third.request("echo", 1) == [1]
            async with connect(app) as refused:
                assert refused.denied == (503, b"too many connections: try again later\n")
            # A key holder with as many connections as the others is rejected, and one without any is served.
            async with connect(app, headers=keys[0]) as fourth:
                assert fourth.denied is not None
        assert await second.request("echo", 2) == [2]


async def test_client_without_reads_is_evicted_at_once(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path)
    keys = [{"authorization": f"Bearer {ring.add(name)}"} for name in ("one", "two")]
    async with (
        running(tmp_path, limits=Limits(connections=2), access=rated()) as (app, _),
        connect(app, headers=keys[0]) as stuck,
        connect(app, headers=keys[0]) as other,
    ):
        stuck.reading.clear()
        async with connect(app, headers=keys[1]) as new:
            assert await new.request("echo", 1) == [1]
            # It still counts as open for the stop of the process, but no longer for the connection limits.
            assert (await metrics(app))["foreseal_connections"] == 2
            stuck.reading.set()
            assert (await ending_of(stuck)).args[0] == 1013
        assert await other.request("echo", 2) == [2]
