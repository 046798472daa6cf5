"""`foreseal_feed` over a connection: it resumes from a cursor, lags, and reports missed steps."""

import asyncio
import random
from typing import Any

import pytest

from foreseal.rpc import Limits
from foreseal.rpc.core_protocol import StepPosition

from asgi_client import Socket, call, connect, ending_of, metrics, served, until
from fake_core import FakeNode, cursor_of


def position_of(cursor: dict[str, str]) -> StepPosition:
    return int(cursor["block"], 16), int(cursor["index"], 16), cursor["hash"]


async def heard_step(socket: Socket) -> StepPosition:
    result = (await socket.hear())["params"]["result"]
    return int(result["number"], 16), int(result["index"], 16), result["hash"]


async def test_feed_without_a_cursor_starts_after_the_newest_step() -> None:
    async with served() as (app, node):
        node.step()
        async with connect(app) as socket:
            await socket.subscribe("foreseal_feed")
            made = [node.step(), node.step()]
            assert [await heard_step(socket) for _ in made] == made
            node.beat()
            assert (await socket.hear())["params"]["result"] == {"heartbeat": cursor_of(made[-1])}


async def test_cursor_is_replayed_by_pages_and_then_follows() -> None:
    async with served() as (app, node):
        made = [node.step() for _ in range(7)]
        async with connect(app) as socket:
            await socket.subscribe("foreseal_feed", cursor_of(made[0]))
            assert [await heard_step(socket) for _ in range(6)] == made[1:]
            more = [node.step() for _ in range(2)]
            assert [await heard_step(socket) for _ in more] == more
            assert [name for name, _ in node.calls] == ["foreseal_getFlashblocks"] * 3


async def test_the_newest_step_as_cursor_joins_without_a_page() -> None:
    async with served() as (app, node):
        newest = node.step()
        async with connect(app) as socket:
            await socket.subscribe("foreseal_feed", cursor_of(newest))
            assert node.calls == []
            made = node.step()
            assert await heard_step(socket) == made


async def test_dropped_cursor_is_an_error() -> None:
    async with served() as (app, node):
        lost = node.steps[0]
        for _ in range(3):
            node.step()
        async with connect(app) as socket:
            node.steps.pop(0)
            error = await socket.request("eth_subscribe", "foreseal_feed", cursor_of(lost))
            assert (error["code"], error["data"]) == (-32001, cursor_of(node.steps[0]))
            # The step arrives between the check of the channel and the page.
            node.hold = True
            socket.call("eth_subscribe", "foreseal_feed", cursor_of(node.steps[0]))
            await until(lambda: bool(node.held))
            node.steps.pop(0)
            node.release()
            assert (await socket.hear())["error"]["code"] == -32001
            assert await socket.request("echo") == []
            assert (await metrics(app))['foreseal_subscriptions{kind="foreseal_feed"}'] == 0


async def test_pages_are_read_only_as_the_client_reads_them() -> None:
    async with served(limits=Limits(outgoing_frames=3)) as (app, node):
        made = [node.step() for _ in range(40)]
        async with connect(app) as socket, connect(app) as other:
            await socket.subscribe("foreseal_feed", cursor_of(node.steps[0]))
            socket.reading.clear()
            for _ in range(50):
                assert await other.request("echo") == []
            pages = [name for name, _ in node.calls].count("foreseal_getFlashblocks")
            # Two steps per page: three in the queue, one in flight, and the page that does not fit.
            assert 1 < pages <= 4
            socket.reading.set()
            assert [await heard_step(socket) for _ in made] == made


async def test_feed_can_be_unsubscribed_during_catch_up() -> None:
    async with served() as (app, node):
        for _ in range(40):
            node.step()
        async with connect(app) as socket:
            ident = await socket.subscribe("foreseal_feed", cursor_of(node.steps[0]))
            node.hold = True
            socket.call("eth_unsubscribe", ident)
            while "id" not in (told := await socket.hear()):
                assert told["params"]["subscription"] == ident
            assert told["result"] is True
            node.hold = False
            node.release()
            assert await socket.request("echo") == []
            assert node.channels == {}


async def test_cursor_dropped_during_catch_up_closes_with_a_reason() -> None:
    async with served() as (app, node):
        for _ in range(10):
            node.step()
        async with connect(app) as socket:
            await socket.subscribe("foreseal_feed", cursor_of(node.steps[0]))
            node.steps = node.steps[-1:]
            code, reason = (await ending_of(socket)).args
            assert code == 1013
            assert "cannot continue the feed" in reason


async def test_page_rejected_by_a_full_queue_is_requested_again() -> None:
    async with served(limits=Limits(calls=1)) as (app, node):
        made = [node.step() for _ in range(6)]
        async with connect(app) as socket, connect(app) as other:
            ident = await socket.subscribe("foreseal_feed", cursor_of(node.steps[0]))
            assert ident
            node.hold = True
            other.call("slow")
            heard = [await heard_step(socket) for _ in range(2)]
            await until(lambda: bool(node.held))
            node.hold = False
            node.release()
            heard += [await heard_step(socket) for _ in range(4)]
            assert heard == made


async def test_a_slow_reader_gets_the_missed_range() -> None:
    async with served(limits=Limits(outgoing_frames=3)) as (app, node), connect(app) as slow, connect(app) as quick:
        ident = await slow.subscribe("foreseal_feed")
        await quick.subscribe("foreseal_feed")
        slow.reading.clear()
        made = []
        for _ in range(10):
            made.append(node.step())
            assert await heard_step(quick) == made[-1]
        slow.reading.set()
        kept = [await heard_step(slow) for _ in range(3)]
        assert kept == made[:3]
        assert await slow.hear() == {
            "jsonrpc": "2.0",
            "method": "foreseal_lagged",
            "params": {
                "subscription": ident,
                "result": {"after": cursor_of(made[2]), "to": cursor_of(made[9])},
            },
        }
        more = node.step()
        assert await heard_step(slow) == more
        assert (await metrics(app))["foreseal_lagged_total"] == 1
        # Missed steps can be read.
        pages: list[Any] = []
        cursor, complete = cursor_of(made[2]), False
        while not complete:
            page = await slow.request("foreseal_getFlashblocks", cursor, "0x10")
            pages += page["flashblocks"]
            cursor, complete = page["cursor"], page["complete"]
        assert [step["hash"] for step in pages] == [step[2] for step in [*made[3:], more]]


async def test_heartbeats_over_the_limit_are_dropped_without_a_gap() -> None:
    async with served(limits=Limits(outgoing_frames=2)) as (app, node), connect(app) as slow, connect(app) as quick:
        await slow.subscribe("foreseal_feed")
        await quick.subscribe("foreseal_feed")
        slow.reading.clear()
        for _ in range(6):
            node.beat()
            await quick.hear()
        slow.reading.set()
        for _ in range(2):
            assert "heartbeat" in (await slow.hear())["params"]["result"]
        made = node.step()
        assert await heard_step(slow) == made
        assert (await metrics(app))["foreseal_lagged_total"] == 0


async def test_slow_feed_with_another_subscription_closes_the_connection() -> None:
    async with served(limits=Limits(outgoing_frames=3)) as (app, node), connect(app) as socket, connect(app) as other:
        await socket.subscribe("foreseal_feed")
        await socket.subscribe("newHeads")
        socket.reading.clear()
        for _ in range(5):
            node.step()
        assert await other.request("echo") == []
        node.publish("newHeads", "{}")
        assert await other.request("echo") == []
        socket.reading.set()
        code, reason = (await ending_of(socket)).args
        assert code == 1013
        assert "too slowly" in reason


@pytest.mark.parametrize("seed", range(40))
async def test_every_step_is_delivered_or_reported_as_missed(seed: int) -> None:
    """Steps, stalls and reads in any order, from any cursor: received and missed steps add up to the whole chain."""
    rolls = random.Random(seed)
    covered: list[StepPosition] = []

    async def receive(socket: Socket, node: FakeNode, covered: list[StepPosition]) -> None:
        message = await socket.hear()
        result = message["params"]["result"]
        if message["method"] == "foreseal_lagged":
            assert position_of(result["after"]) == covered[-1]
            after, to = (node.steps.index(position_of(result[name])) for name in ("after", "to"))
            assert after < to
            covered += node.steps[after + 1 : to + 1]
        elif "heartbeat" in result:
            assert position_of(result["heartbeat"]) == covered[-1]
        else:
            covered.append((int(result["number"], 16), int(result["index"], 16), result["hash"]))

    async with served(limits=Limits(outgoing_frames=4, outgoing_bytes=2000)) as (app, node):
        for _ in range(rolls.randrange(30)):
            node.step()
        begin = rolls.choice(node.steps)
        covered.append(begin)
        async with connect(app) as socket:
            await socket.subscribe("foreseal_feed", cursor_of(begin))
            for _ in range(300):
                match rolls.randrange(6):
                    case 0 | 1:
                        node.step(rolls.choice([0, 0, 300]))
                    case 2:
                        node.beat()
                    case 3:
                        socket.reading.clear()
                    case 4:
                        socket.reading.set()
                    case _:
                        for _ in range(rolls.randrange(8)):
                            await asyncio.sleep(0)
            socket.reading.set()
            while covered[-1] != node.steps[-1]:
                await receive(socket, node, covered)
            assert covered == node.steps[node.steps.index(begin) :]


async def test_feed_may_lag_before_its_response() -> None:
    async with served(limits=Limits(outgoing_frames=2)) as (app, node), connect(app) as socket, connect(app) as other:
        before = node.steps[-1]
        node.hold = True
        socket.send([call("slow"), call("eth_subscribe", "foreseal_feed", cursor_of(before))])
        while not node.channels:
            assert await other.request("echo") == []
        made = [node.step() for _ in range(5)]
        assert await other.request("echo") == []
        node.release()
        assert [answer["id"] for answer in await socket.hear()] == [1, 1]
        assert [await heard_step(socket) for _ in range(2)] == made[:2]
        missed = await socket.hear()
        assert missed["method"] == "foreseal_lagged"
        assert missed["params"]["result"] == {"after": cursor_of(made[1]), "to": cursor_of(made[4])}


async def test_stop_ends_a_feed_that_is_starting() -> None:
    async with served() as (app, node), connect(app) as socket:
        node.hold = True
        socket.call("eth_subscribe", "foreseal_feed")
        await until(lambda: bool(node.held))
        # Calls of a batch do not start meanwhile either.
        socket.send([call("slow"), *[call("slow")] * 32, call("eth_subscribe", "newHeads")])
        await until(lambda: len(node.held) > 30)
        stopping = asyncio.ensure_future(app.disconnect())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        node.hold = False
        node.release()
        for _ in range(2):
            answer = await socket.hear()
            last = answer[-1] if isinstance(answer, list) else answer
            assert last["error"]["message"] == "the connection is being closed"
        assert (await ending_of(socket)).args[0] == 1001
        await stopping
        assert node.channels == {}
