"""Notifications of a large change: rendered as their client accepts them, bounded in bytes."""

import orjson
import pytest

from foreseal.rpc import Limits
from foreseal.rpc.deferred_notifications import DeferredNotifications, DeferredWindow

from asgi_client import Closed, Socket, connect, metrics, served, until
from fake_core import FakeDeferred, cursor_of

COUNT = 10_000
LOGS = [orjson.dumps({"number": number}).decode() for number in range(COUNT)]


async def numbers(socket: Socket, count: int) -> list[int]:
    return [(await socket.hear())["params"]["result"]["number"] for _ in range(count)]


async def test_ten_thousand_logs_reach_a_reading_client() -> None:
    async with (
        served(limits=Limits(outgoing_frames=16, outgoing_bytes=4000)) as (app, node),
        connect(app) as one,
        connect(app) as two,
    ):
        for socket in (one, two):
            await socket.subscribe("logs", {})
        first = node.publish_deferred("logs", *LOGS)
        node.publish("logs", *LOGS[:3])
        node.publish_deferred("logs", *LOGS)
        for socket in (one, two):
            assert await numbers(socket, 2 * COUNT + 3) == [*range(COUNT), *range(3), *range(COUNT)]
        assert set(first.rendered) == set(range(100))
        node.publish("logs", LOGS[7])
        assert await numbers(one, 1) == [7]
        assert (await metrics(app))["foreseal_connections_slow_total"] == 0


async def test_chunks_are_rendered_only_as_the_client_reads() -> None:
    async with (
        served(limits=Limits(outgoing_frames=16, outgoing_bytes=4000)) as (app, node),
        connect(app) as socket,
        connect(app) as other,
    ):
        await socket.subscribe("logs", {})
        socket.reading.clear()
        deferred = node.publish_deferred("logs", *LOGS)
        await until(lambda: len(deferred.rendered) >= 2)
        for _ in range(50):
            assert await other.request("echo") == []
        assert deferred.rendered == [0, 1]
        socket.reading.set()
        assert await numbers(socket, COUNT) == list(range(COUNT))


async def test_client_that_does_not_read_is_closed_with_the_reason() -> None:
    async with (
        served(limits=Limits(outgoing_frames=16, outgoing_bytes=4000)) as (app, node),
        connect(app) as socket,
        connect(app) as other,
    ):
        await socket.subscribe("logs", {})
        socket.reading.clear()
        node.publish_deferred("logs", *LOGS)
        for _ in range(10):
            node.publish("logs", *LOGS[-50:])
            assert await other.request("echo") == []
        socket.reading.set()
        with pytest.raises(Closed, match="the client reads too slowly") as closed:
            await numbers(socket, COUNT)
        assert closed.value.args[0] == 1013


@pytest.mark.parametrize("deferred", [False, True])
async def test_message_above_the_limit_closes_with_its_size(*, deferred: bool) -> None:
    async with served(limits=Limits(outgoing_bytes=70_000)) as (app, node), connect(app) as socket:
        await socket.subscribe("newHeads")
        message = orjson.dumps({"data": "x" * 100_000}).decode()
        if deferred:
            node.publish_deferred("newHeads", message)
        else:
            node.publish("newHeads", message)
        with pytest.raises(Closed, match="a message of 100011 bytes exceeds the limit of 70000 bytes") as closed:
            await socket.hear()
        assert closed.value.args[0] == 1013


async def test_feed_reader_too_slow_for_a_large_step_is_notified_of_the_gap() -> None:
    async with served(limits=Limits(outgoing_frames=16, outgoing_bytes=4000)) as (app, node), connect(app) as socket:
        await socket.subscribe("foreseal_feed")
        begin = node.steps[-1]
        socket.reading.clear()
        first = node.publish_deferred("foreseal_feed", *LOGS, size=200 << 20)
        await until(lambda: len(first.rendered) >= 2)
        node.step()
        # The window has no room for both.
        node.publish_deferred("foreseal_feed", *LOGS, size=200 << 20)
        newest = node.step()
        socket.reading.set()
        while (message := await socket.hear())["method"] != "foreseal_lagged":
            pass
        assert message["params"]["result"] == {"after": cursor_of(begin), "to": cursor_of(newest)}
        made = node.step()
        assert (await socket.hear())["params"]["result"]["hash"] == made[2]


async def test_heartbeats_are_left_out_during_a_large_step() -> None:
    async with served() as (app, node), connect(app) as socket:
        await socket.subscribe("foreseal_feed")
        node.publish_deferred("foreseal_feed", *LOGS)
        node.beat()
        assert await numbers(socket, COUNT) == list(range(COUNT))
        node.beat()
        assert "heartbeat" in (await socket.hear())["params"]["result"]


async def test_window_expires_the_oldest_changes_that_have_readers() -> None:
    window = DeferredWindow(100)
    changes: list[DeferredNotifications] = [window.add(FakeDeferred(["{}"], 1, 60))]
    for _ in range(3):
        # Without a reader: it does not count.
        window.add(FakeDeferred(["{}"], 1, 30))
    assert not changes[0].is_expired
    changes.append(window.add(FakeDeferred(["{}"], 1, 60)))
    assert [change.is_expired for change in changes] == [True, False]
    assert await changes[0].chunk(0) is None
    chunk = await changes[1].chunk(0)
    assert chunk is not None
    assert chunk.is_last
