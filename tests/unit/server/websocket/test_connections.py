"""WebSockets through the ASGI application, without a socket: handshakes, calls, limits, closes."""

import asyncio
import gc
import tracemalloc
import weakref
from typing import Any

import orjson
import pytest

from foreseal.rpc import Limits
from foreseal.server.asgi.websocket import AsgiWebSocket
from foreseal.server.settings.access import AccessSettings
from foreseal.server.websocket.socket import ClientDisconnected, SideState

from asgi_client import Closed, Socket, call, connect, metrics, request, served, until

ORIGIN = {"origin": "https://x.example"}


async def test_requests_batches_notifications_and_errors_as_over_http() -> None:
    async with served() as (app, node), connect(app) as socket:
        assert await socket.request("echo", 1, "x") == [1, "x"]
        assert (await socket.request("nothing"))["code"] == -32601
        assert (await socket.request("reverts"))["data"] == "0x"
        assert await socket.request("slow", 7) == [7]
        socket.send('{"jsonrpc":')
        answer = await socket.hear()
        assert (answer["id"], answer["error"]["code"]) == (None, -32700)
        socket.send([])
        assert (await socket.hear())["error"]["code"] == -32600
        # Neither a notification nor a batch of notifications gets a response.
        socket.send({"jsonrpc": "2.0", "method": "echo"})
        socket.send([{"jsonrpc": "2.0", "method": "slow"}])
        socket.send([call("eth_blockNumber"), 1, call("slow", id="b"), call("eth_blockNumber")])
        first, wrong, slow, last = await socket.hear()
        assert first["result"] == last["result"]
        assert (wrong["error"]["code"], slow["id"]) == (-32600, "b")
        assert [name for name, _ in node.calls].count("slow") == 3


async def test_binary_frames_are_json_as_well() -> None:
    async with served() as (app, _), connect(app) as socket:
        socket.send(orjson.dumps(call("echo", "ü")))
        assert (await socket.hear())["result"] == ["ü"]
        socket.send(b"\xff\xfe")
        assert (await socket.hear())["error"]["code"] == -32700


async def test_request_limits_equal_those_of_http() -> None:
    async with served(limits=Limits(body=500, batch=3, depth=4, response=1000)) as (app, _), connect(app) as socket:
        assert (await socket.request("large", 2000))["data"] == {"limit": "response", "max": 1000}
        socket.send([call("echo")] * 4)
        assert (await socket.hear())["error"]["data"] == {"limit": "batch", "max": 3}
        socket.send("[" * 9 + "]" * 9)
        assert (await socket.hear())["error"]["data"] == {"limit": "depth", "max": 4}
        socket.send(" " * 501)
        with pytest.raises(Closed, match="at most 500 bytes") as closed:
            await socket.hear()
        assert closed.value.args[0] == 1009


async def test_a_method_of_the_dedicated_tier_fails_alone() -> None:
    async with served(public=True) as (app, _), connect(app) as socket:
        assert (await socket.request("eth_getBlockReceipts", "0x1"))["code"] == -32004
        socket.send([call("eth_getBlockReceipts", "0x1"), call("echo", 1)])
        refused, fine = await socket.hear()
        assert (refused["error"]["code"], fine["result"]) == (-32004, [1])


async def test_inline_responses_overtake_only_worker_pool_calls() -> None:
    async with served() as (app, node), connect(app) as socket:
        node.hold = True
        socket.call("slow", ident=1)
        socket.call("echo", ident=2)
        assert (await socket.hear())["id"] == 2
        # A batch over several iterations of the event loop keeps its order if it stays off the worker pool.
        socket.send([call("large", 100_000, id=3)] * 200)
        socket.call("echo", ident=4)
        assert (await socket.hear())[0]["id"] == 3
        assert (await socket.hear())["id"] == 4
        node.release()
        assert (await socket.hear())["id"] == 1


async def test_reading_pauses_at_the_limit_of_pending_calls() -> None:
    async with served(limits=Limits(connection_calls=2)) as (app, node), connect(app) as socket, connect(app) as other:
        node.hold = True
        for ident in range(5):
            socket.call("slow", ident=ident)
        # The other connection's response shows that the first one was read as far as it will be.
        while len(node.held) < 2:
            assert await other.request("echo") == []
        for _ in range(20):
            assert await other.request("echo") == []
        assert len(node.held) == 2
        node.hold = False
        node.release()
        assert sorted([(await socket.hear())["id"] for _ in range(5)]) == [0, 1, 2, 3, 4]


async def test_batch_waits_for_the_previous_batch_but_calls_do_not() -> None:
    async with served() as (app, node), connect(app) as socket, connect(app) as other:
        node.hold = True
        socket.send([call("slow", id=1), call("slow", id=1)])
        socket.call("echo", ident=2)
        assert (await socket.hear())["id"] == 2
        socket.send([call("slow", id=3)])
        for _ in range(20):
            assert await other.request("echo") == []
        # Many concurrent batches would accumulate maximum-size responses for a client that does not read.
        assert len(node.held) == 2
        node.release()
        assert (await socket.hear())[0]["id"] == 1
        await until(lambda: len(node.held) == 1)
        socket.send([call("slow", id=4)])
        for _ in range(20):
            assert await other.request("echo") == []
        assert len(node.held) == 1
        node.hold = False
        node.release()
        assert [(await socket.hear())[0]["id"] for _ in range(2)] == [3, 4]


@pytest.mark.usefixtures("counted_callers")
async def test_calls_over_the_total_limit_fail_as_over_http() -> None:
    async with served(limits=Limits(calls=1)) as (app, node), connect(app) as socket:
        assert await socket.request("slow") == []
        node.hold = True
        # A caller with fewer calls than that may exceed the limit.
        for _ in range(4):
            socket.call("slow")
        assert (await socket.request("slow"))["data"] == {"limit": "calls", "max": 1}
        node.release()
        assert [(await socket.hear())["result"] for _ in range(4)] == [[]] * 4


async def test_reading_pauses_while_responses_are_unread() -> None:
    async with served(limits=Limits(outgoing_bytes=1200)) as (app, node), connect(app) as socket, connect(app) as other:
        socket.reading.clear()
        for _ in range(100):
            socket.call("large", 500)
        for _ in range(200):
            await other.request("echo")
        asked = [name for name, _ in node.calls].count("large")
        assert asked == 3
        socket.reading.set()
        for _ in range(100):
            assert len((await socket.hear())["result"]) == 500


@pytest.mark.parametrize(
    ("path", "headers", "settings", "status"),
    [
        ("/ws", {}, {}, 404),
        ("/healthz", {}, {}, 404),
        ("/", {"host": "evil.example"}, {"browsers": True}, 403),
        ("/", ORIGIN, {}, 403),
        ("/", ORIGIN, {"browsers": True}, 403),
        ("/", {"origin": "null"}, {"browsers": True}, 403),
    ],
)
@pytest.mark.parametrize("denial", [True, False])
async def test_unwanted_handshake_is_rejected(
    path: str, headers: dict[str, str], settings: dict[str, Any], status: int, *, denial: bool
) -> None:
    async with served(**settings) as (app, _), connect(app, path, headers, denial=denial) as socket:
        assert socket.denied is not None
        assert socket.denied[0] == (status if denial else 403)
        assert bool(socket.denied[1]) == denial


@pytest.mark.parametrize("browsers", [True, False])
async def test_pages_connect_from_allowed_origins(browsers: bool) -> None:
    async with served(browsers=browsers, access=AccessSettings(origins=frozenset(ORIGIN.values()))) as (app, _):
        async with connect(app, headers=ORIGIN) as socket:
            assert await socket.request("echo") == []
        async with connect(app, headers={"origin": "http://localhost:3000"}) as socket:
            assert bool(socket.denied) != browsers


async def test_extensions_connect_without_the_development_methods() -> None:
    async with served(browsers=True) as (app, _):
        for origin in ("chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn", "tauri://localhost"):
            async with connect(app, headers={"origin": origin}) as socket:
                assert await socket.request("echo") == []
                assert (await socket.request("eth_accounts"))["code"] == -32004
        async with connect(app, headers={"origin": "Titanoboa"}) as socket:
            assert (await socket.request("eth_accounts"))["code"] == -32601


async def test_connections_over_the_limit_are_rejected_at_the_handshake() -> None:
    async with served(limits=Limits(connections=2)) as (app, _), connect(app) as first, connect(app):
        async with connect(app) as third:
            assert third.denied == (503, b"too many connections: try again later\n")
        assert (await metrics(app))["foreseal_connections"] == 2
        first.leave()
        await first.served
        async with connect(app) as fourth:
            assert await fourth.request("echo") == []
        assert (await metrics(app))["foreseal_connections_refused_total"] == 1


async def test_client_that_leaves_during_a_call_affects_no_other() -> None:
    async with served() as (app, node):
        async with connect(app) as socket:
            await socket.subscribe("newHeads")
            node.hold = True
            socket.call("slow")
            await until(lambda: bool(node.held))
        assert node.channels == {}
        node.release()
        async with connect(app) as socket:
            assert await socket.request("echo", 1) == [1]


async def test_queued_messages_of_a_disconnected_client_are_freed() -> None:
    # A connection is part of reference cycles, and the collector counts objects, not the bytes that they reference.
    gc.disable()
    try:
        async with served() as (app, node), connect(app) as other:
            tracemalloc.start()
            async with connect(app) as socket:
                socket.reading.clear()
                for _ in range(4):
                    socket.call("large", 1_000_000)
                await until(lambda: len(node.calls) == 4)
                assert await other.request("echo") == []
                assert tracemalloc.get_traced_memory()[0] > 4_000_000
            assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()
        gc.enable()


async def test_an_idle_connection_is_closed() -> None:
    async with served(limits=Limits(idle=50)) as (app, node), connect(app) as silent, connect(app) as subscribed:
        await subscribed.subscribe("newHeads")
        with pytest.raises(Closed, match="idle without subscriptions") as closed:
            await silent.hear()
        assert closed.value.args[0] == 1000
        node.publish("newHeads", '{"number":"0x1"}')
        assert (await subscribed.hear())["params"]["result"] == {"number": "0x1"}


async def test_connection_that_reads_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foreseal.server.websocket.connection.CLOSE_TIME", 0.01)
    async with served(limits=Limits(idle=50)) as (app, node), connect(app) as socket:
        await socket.subscribe("foreseal_feed")
        socket.reading.clear()
        node.step()
        await socket.served
        assert (await metrics(app))["foreseal_connections_slow_total"] == 1


async def test_shutdown_answers_calls_in_progress_and_closes_with_1001() -> None:
    async with served() as (app, node), connect(app) as busy, connect(app) as idle:
        node.hold = True
        busy.call("slow", 5)
        await until(lambda: bool(node.held))
        stopping = asyncio.ensure_future(app.disconnect())
        with pytest.raises(Closed, match="the server is shutting down") as closed:
            await idle.hear()
        assert closed.value.args[0] == 1001
        async with connect(app) as late:
            assert late.denied is not None
            assert late.denied[0] == 503
        node.release()
        assert (await busy.hear())["result"] == [5]
        with pytest.raises(Closed):
            await busy.hear()
        await stopping


async def test_stop_stages_share_one_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    async with served() as (app, _):
        now = 1000.0
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now, raising=False)
        assert app.time_left() == 10
        now += 7
        assert app.time_left() == pytest.approx(3)
        now += 7
        assert 0 < app.time_left() < 1
        # A worker that is being replaced serves calls until its stop.
        await app.retire()
        assert app.time_left() == 10
        monkeypatch.undo()


async def test_stop_does_not_wait_for_a_client_without_reads() -> None:
    async with served() as (app, node), connect(app) as socket, connect(app) as reading:
        await socket.subscribe("newHeads")
        socket.reading.clear()
        for _ in range(10):
            node.publish("newHeads", '{"number":"0x1"}')
        await reading.request("echo")
        await app.disconnect()
        assert socket.served.done()
        with pytest.raises(Closed):
            await reading.hear()


async def test_internal_failure_closes_only_its_connection(caplog: pytest.LogCaptureFixture) -> None:
    async with served() as (app, node), connect(app) as broken, connect(app) as other:
        node.subscribe = lambda params: 1 // 0  # type: ignore[method-assign]
        broken.call("eth_subscribe", "newHeads")
        with pytest.raises(Closed, match="internal error") as closed:
            await broken.hear()
        assert closed.value.args[0] == 1011
        assert await other.request("echo") == []
    assert "ZeroDivisionError" in caplog.text


async def test_client_that_leaves_before_the_handshake_ends() -> None:
    async with served() as (app, _):
        socket = Socket(app, "/", {}, denial=True)
        # The connect message is removed, and the client is gone.
        socket._to_server.get_nowait()
        socket.leave()
        await socket.served
        assert not socket.accepted.is_set()


async def test_a_websocket_used_in_the_wrong_state_raises() -> None:
    async def nothing(*_: Any) -> Any:
        return {"type": "websocket.connect"}

    websocket = AsgiWebSocket({}, nothing, nothing)
    with pytest.raises(RuntimeError, match="CONNECTING is not OPEN"):
        await websocket.send("x")
    assert await websocket.connect()
    await websocket.accept(1 << 20)
    with pytest.raises(RuntimeError, match="OPEN is not CONNECTING"):
        await websocket.accept(1 << 20)
    await websocket.close(1000, "x" * 200)
    with pytest.raises(RuntimeError, match="CLOSED is not OPEN"):
        await websocket.close(1000, "")


async def test_concurrent_messages_are_sent_in_order_or_dropped() -> None:
    given: list[str] = []
    full = asyncio.Event()
    full.set()
    is_closed = False

    async def send(message: Any) -> None:
        await full.wait()
        if is_closed:
            raise OSError("the client has disconnected")
        if message["type"] == "websocket.send":
            given.append(message["text"])

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    websocket = AsgiWebSocket({}, receive, send)
    await websocket.connect()
    await websocket.accept(1 << 20)
    heard: list[int] = []
    texts = [str(number) for number in range(100)]
    await websocket.send_ahead(texts, heard.append)
    assert (given, heard) == (texts, list(range(100)))

    # Nothing remains of the messages that wait for a client that does not read.
    full.clear()
    waiting = asyncio.ensure_future(websocket.send_ahead(texts, heard.append))
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 2 + len(texts)
    waiting.cancel()
    await asyncio.wait({waiting})
    full.set()
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert (len(given), len(heard), waiting.cancelled()) == (100, 100, True)

    is_closed = True
    with pytest.raises(ClientDisconnected, match="the client has disconnected"):
        await websocket.send_ahead(texts[:3], heard.append)
    assert len(heard) == 100


class Sending(asyncio.Future[None]):
    """A message in flight, like granian's: it keeps a reference to its error."""

    kept: BaseException

    def __await__(self) -> Any:
        return self

    def __next__(self) -> Any:
        self._asyncio_future_blocking = True
        return self

    def throw(self, error: BaseException) -> None:
        self.kept = error
        # The error's traceback references this frame.
        del self
        raise error


@pytest.mark.parametrize("left", [asyncio.CancelledError(), OSError("the client has disconnected")])
def test_dropped_message_is_freed_without_the_collector(left: BaseException) -> None:
    async def run() -> None:
        begun: list[weakref.ref[Sending]] = []

        def send(_: Any) -> Any:
            sending = Sending()
            begun.append(weakref.ref(sending))
            return sending

        async def receive() -> Any:
            return {"type": "websocket.connect"}

        websocket = AsgiWebSocket({}, receive, send)
        await websocket.connect()
        websocket.server = SideState.OPEN
        waiting = asyncio.ensure_future(websocket.send_ahead(["1", "2", "3"], lambda _: None))
        await asyncio.sleep(0)
        first = begun[0]()
        assert (first is not None, len(begun)) == (True, 3)
        if isinstance(left, asyncio.CancelledError):
            waiting.cancel()
        else:
            first.set_exception(left)
        del first
        await asyncio.wait({waiting})
        assert waiting.cancelled() or isinstance(waiting.exception(), ClientDisconnected)
        del waiting
        await asyncio.sleep(0)
        assert [each() for each in begun] == [None] * 3

    gc.disable()
    try:
        asyncio.run(run())
    finally:
        gc.enable()


async def test_the_core_rejects_a_subscription_over_http() -> None:
    async with served() as (app, node):
        answer = await request(app, chunks=[orjson.dumps(call("eth_subscribe", "newHeads"))])
        assert answer.json["error"]["code"] == -32601
        assert node.calls[-1] == ("eth_subscribe", b'["newHeads"]')
