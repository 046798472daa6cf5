"""Subscriptions over a connection: ids, order, ends, slow clients."""

import re

import orjson
import pytest

from foreseal.rpc import Limits

from asgi_client import Closed, call, connect, metrics, served, until

HEAD = '{"number":"0x1"}'


async def test_a_notification_has_the_standard_envelope() -> None:
    async with served() as (app, node), connect(app) as socket:
        ident = await socket.subscribe("newHeads")
        assert re.fullmatch("0x[0-9a-f]{32}", ident)
        node.publish("newHeads", HEAD, '{"number":"0x2"}')
        for number in ("0x1", "0x2"):
            assert await socket.hear() == {
                "jsonrpc": "2.0",
                "method": "eth_subscription",
                "params": {"subscription": ident, "result": {"number": number}},
            }


async def test_each_subscription_gets_only_its_channel() -> None:
    async with served() as (app, node), connect(app) as one, connect(app) as two:
        heads = [await one.subscribe("newHeads"), await one.subscribe("newHeads"), await two.subscribe("newHeads")]
        logs = await two.subscribe("logs", {"address": "0x01"})
        assert len({*heads, logs}) == 4
        assert sorted(count for _, count in node.channels.values()) == [1, 3]
        node.publish("newHeads", HEAD)
        node.publish("logs", "{}")
        assert [(await one.hear())["params"]["subscription"] for _ in range(2)] == heads[:2]
        assert [(await two.hear())["params"]["subscription"] for _ in range(2)] == [heads[2], logs]
        figures = await metrics(app)
        assert figures['foreseal_subscriptions{kind="newHeads"}'] == 3
        assert figures["foreseal_notifications_total"] == 4
        one.leave()
        await one.served
        assert sorted(count for _, count in node.channels.values()) == [1, 1]
        assert (await metrics(app))['foreseal_subscriptions{kind="newHeads"}'] == 1


@pytest.mark.parametrize("params", [[], ["nonsense"], [5], ["newHeads", 1, 2], ["foreseal_feed", {}], [{}]])
async def test_rejected_subscription_returns_the_error_of_the_node(params: list[object]) -> None:
    async with served() as (app, _), connect(app) as socket:
        assert (await socket.request("eth_subscribe", *params))["code"] == -32602
        figures = await metrics(app)
        assert not any(count for name, count in figures.items() if name.startswith("foreseal_subscriptions"))


async def test_subscriptions_of_a_connection_are_limited() -> None:
    async with served(limits=Limits(subscriptions=2)) as (app, _), connect(app) as socket:
        first = await socket.subscribe("newHeads")
        await socket.subscribe("foreseal_feed")
        for kind in ("newHeads", "foreseal_feed"):
            assert (await socket.request("eth_subscribe", kind))["data"] == {"limit": "subscriptions", "max": 2}
        assert await socket.request("eth_unsubscribe", first) is True
        await socket.subscribe("newHeads")


async def test_no_notification_follows_the_unsubscribe_response() -> None:
    async with served() as (app, node), connect(app) as socket, connect(app) as other:
        ident = await socket.subscribe("newHeads")
        node.publish("newHeads", HEAD)
        assert (await other.request("eth_unsubscribe", ident)) is False
        # Queued notifications precede the response.
        assert (await socket.hear())["params"]["subscription"] == ident
        assert await socket.request("eth_unsubscribe", ident) is True
        node.publish("newHeads", HEAD)
        assert await socket.request("eth_unsubscribe", ident) is False
        for wrong in ([], [5], [ident, ident]):
            assert (await socket.request("eth_unsubscribe", *wrong))["code"] == -32602
        assert node.channels == {}


async def test_notifications_wait_for_the_answer_of_a_batch() -> None:
    async with served() as (app, node), connect(app) as socket, connect(app) as other:
        node.hold = True
        kinds = ("newHeads", "foreseal_feed")
        subscriptions = [call("eth_subscribe", kind, id=kind) for kind in kinds]
        socket.send([subscriptions[0], call("slow"), subscriptions[1]])
        while len(node.held) < 2:
            assert await other.request("echo") == []
        node.publish("newHeads", HEAD)
        # The start of the feed is fixed, so it joins; the other call still runs.
        node.release(1)
        while len(node.channels) < 2:
            assert await other.request("echo") == []
        node.step()
        assert await other.request("echo") == []
        assert socket.sent == 0
        node.release()
        answers = await socket.hear()
        assert [answer["id"] for answer in answers] == [kinds[0], 1, kinds[1]]
        heads, feed = answers[0]["result"], answers[2]["result"]
        heard = [await socket.hear() for _ in range(2)]
        assert {told["params"]["subscription"] for told in heard} == {heads, feed}


async def test_held_notifications_are_limited() -> None:
    async with served(limits=Limits(outgoing_frames=3)) as (app, node), connect(app) as socket, connect(app) as other:
        node.hold = True
        socket.send([call("eth_subscribe", "newHeads"), call("slow")])
        while not node.held:
            assert await other.request("echo") == []
        for _ in range(4):
            node.publish("newHeads", HEAD)
        with pytest.raises(Closed, match="too slowly"):
            await socket.hear()
        node.release()


async def test_a_subscription_without_a_delivered_id_ends() -> None:
    async with served(limits=Limits(response=100)) as (app, node), connect(app) as socket:
        socket.send({"jsonrpc": "2.0", "method": "eth_subscribe", "params": ["newHeads"]})
        # Its response exceeds the response limit of a batch.
        socket.send([call("large", 80), call("eth_subscribe", "newHeads")])
        assert (await socket.hear())[1]["error"]["data"]["limit"] == "response"
        assert node.channels == {}


async def test_a_slow_client_is_closed_with_a_reason_and_isolated() -> None:
    async with served(limits=Limits(outgoing_frames=5)) as (app, node), connect(app) as slow, connect(app) as quick:
        await slow.subscribe("newHeads")
        await quick.subscribe("newHeads")
        slow.reading.clear()
        for number in range(7):
            node.publish("newHeads", HEAD)
            assert (await quick.hear())["params"]["result"] == {"number": "0x1"}, number
        # Its channels are released at once, although it does not read the close frame.
        assert [count for _, count in node.channels.values()] == [1]
        assert slow.sent == 1
        slow.reading.set()
        with pytest.raises(Closed, match="too slowly") as closed:
            await slow.hear()
        assert closed.value.args[0] == 1013
        await slow.served
        assert (await metrics(app))["foreseal_connections_slow_total"] == 1


async def test_large_unfinished_response_does_not_make_a_client_slow() -> None:
    async with served(limits=Limits(outgoing_bytes=1000)) as (app, node), connect(app) as socket:
        await socket.subscribe("newHeads")
        socket.reading.clear()
        socket.call("large", 5000)
        for _ in range(3):
            node.publish("newHeads", HEAD)
        await until(lambda: any(name == "large" for name, _ in node.calls))
        socket.reading.set()
        heard = [await socket.hear() for _ in range(4)]
        assert sorted("result" in told for told in heard) == [False, False, False, True]


async def test_message_over_the_queue_limit_is_sent_if_alone() -> None:
    async with served(limits=Limits(outgoing_frames=5, outgoing_bytes=30)) as (app, node), connect(app) as socket:
        await socket.subscribe("logs", {})
        node.publish("logs", *[orjson.dumps({"n": number}).decode() for number in range(20)])
        heard = [(await socket.hear())["params"]["result"]["n"] for _ in range(20)]
        assert heard == list(range(20))


async def test_lost_channel_messages_close_its_subscribers() -> None:
    async with served() as (app, node), connect(app) as hearing, connect(app) as other:
        await hearing.subscribe("newPendingTransactions")
        await other.subscribe("newHeads")
        node.publish("newPendingTransactions", lost=True)
        with pytest.raises(Closed, match="notifications were lost") as closed:
            await hearing.hear()
        assert closed.value.args[0] == 1013
        assert await other.request("echo") == []


async def test_earlier_notifications_do_not_reach_a_new_subscription() -> None:
    async with served() as (app, node), connect(app) as one, connect(app) as two:
        await one.subscribe("newHeads")
        assert await two.request("echo") == []
        # The notice waits in the core when the second subscription joins its channel.
        node.publish("newHeads", HEAD)
        two.call("eth_subscribe", "newHeads")
        assert (await two.hear())["result"]
        assert (await one.hear())["params"]["result"] == {"number": "0x1"}
        node.publish("newHeads", '{"number":"0x2"}')
        assert (await two.hear())["params"]["result"] == {"number": "0x2"}


async def test_subscriptions_of_a_caller_are_limited_across_connections() -> None:
    async with (
        served(limits=Limits(caller_subscriptions=2, caller_calls=16)) as (app, _),
        connect(app) as one,
        connect(app) as two,
    ):
        first = await one.subscribe("newHeads")
        await two.subscribe("newHeads")
        refused = await two.request("eth_subscribe", "newHeads")
        assert (refused["code"], refused["data"]) == (-32005, {"limit": "caller_subscriptions", "max": 2})
        assert await one.request("eth_unsubscribe", first) is True
        await two.subscribe("newHeads")
