"""Channels of a running node, and their notices through the shared wake-up."""

import itertools
import select
from collections.abc import Callable, Iterator

import orjson
import pytest

from foreseal._core import Node
from foreseal.errors import RpcError
from live_node import ALICE

MakeNode = Callable[..., Node]
Notice = tuple[int, int, list[str] | None, tuple[int, int, str]]


def notices(node: Node, seconds: float = 30) -> Iterator[Notice]:
    """Yield the notices of channels as they arrive."""
    while True:
        readable, _, _ = select.select([node.event_fd()], [], [], seconds)
        assert readable, "no data received"
        yield from node.drain()[1]


def subscribe(node: Node, *params: object) -> tuple[int, int]:
    subscribed = node.subscribe(orjson.dumps(params))
    assert subscribed is not None
    return subscribed


def flashblocks(node: Node, *params: object) -> dict[str, object]:
    """Return a page from the worker pool."""
    assert node.call("foreseal_getFlashblocks", orjson.dumps(params), 1) is None
    while True:
        select.select([node.event_fd()], [], [])
        for _, outcome in node.drain()[0]:
            assert isinstance(outcome, bytes)
            page: dict[str, object] = orjson.loads(outcome)
            return page


def test_sealed_blocks_and_heartbeats_have_the_newest_step_position(node: Node) -> None:
    heads, first_head = subscribe(node, "newHeads")
    feed, first_step = subscribe(node, "foreseal_feed")
    numbers, hashes, beats = [], [], 0
    for channel, sequence, messages, place in notices(node):
        assert messages is not None
        for message in map(orjson.loads, messages):
            if channel == heads:
                assert sequence >= first_head
                numbers.append(int(message["number"], 16))
            elif "heartbeat" in message:
                beats += 1
                assert (message["heartbeat"]["block"], message["heartbeat"]["hash"]) == (hex(place[0]), place[2])
            else:
                assert channel == feed
                assert sequence >= first_step
                hashes.append((message["parent"], message["hash"]))
                assert place == (int(message["number"], 16), int(message["index"], 16), message["hash"])
        if len(numbers) >= 2 and beats > 10:
            break
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert all(after[0] == before[1] for before, after in itertools.pairwise(hashes))


def test_a_transaction_is_notified_when_pooled_and_when_confirmed(make_node: MakeNode) -> None:
    node = make_node(development=True)
    pool, _ = subscribe(node, "newPendingTransactions")
    steps, _ = subscribe(node, "newFlashblockTransactions")
    params = orjson.dumps([{"from": ALICE, "to": ALICE, "value": "0x1"}])
    assert node.call("eth_sendTransaction", params, 5) is None
    answers: dict[int, bytes | RpcError] = {}
    told: list[tuple[int, str]] = []
    while len(told) < 2 or not answers:
        assert select.select([node.event_fd()], [], [], 30)[0]
        outcomes, said = node.drain()
        answers.update(outcomes)
        told += [(channel, message) for channel, _, messages, _ in said for message in messages or []]
    sent = answers[5]
    assert isinstance(sent, bytes)
    assert told == [(pool, sent.decode()), (steps, sent.decode())]


def test_syncing_is_notified_immediately(node: Node) -> None:
    channel, start = subscribe(node, "syncing")
    assert select.select([node.event_fd()], [], [], 0)[0]
    [(of, sequence, messages, _)] = node.drain()[1]
    assert (of, sequence, messages) == (channel, start, ["false"])


def test_old_cursor_gets_a_page_and_then_new_steps(node: Node) -> None:
    cursor = flashblocks(node)["cursor"]
    while (joined := node.subscribe(orjson.dumps(["foreseal_feed", cursor]))) is None:
        cursor = flashblocks(node, cursor)["cursor"]
    assert isinstance(cursor, dict)
    channel, start = joined
    said = (
        message for of, at, messages, _ in notices(node) if of == channel and at >= start for message in messages or []
    )
    step = next(step for step in map(orjson.loads, said) if "heartbeat" not in step)
    assert step["parent"] == cursor["hash"]


def test_wrong_params_name_the_argument(node: Node) -> None:
    with pytest.raises(RpcError, match="unknown subscription heads") as error:
        node.subscribe(b'["heads"]')
    assert error.value.code == -32602
    with pytest.raises(RpcError, match="params must be an array"):
        node.subscribe(b"{}")


def test_subscribing_before_the_start_fails(make_node: MakeNode) -> None:
    node = make_node(start=False)
    with pytest.raises(RpcError, match="starting") as error:
        node.subscribe(b'["newHeads"]')
    assert error.value.code == -32002


def test_channel_without_subscribers_gets_no_messages(node: Node) -> None:
    heads, _ = subscribe(node, "newHeads")
    feed, _ = subscribe(node, "foreseal_feed")
    node.unsubscribe(heads)
    block = None
    for channel, _, _, place in notices(node):
        assert channel == feed
        block = place[0] if block is None else block
        if place[0] > block + 1:
            break


def test_node_with_subscriptions_stops(make_node: MakeNode) -> None:
    node = make_node()
    for _ in range(100):
        subscribe(node, "newFlashblocks")
    node.stop()
    node.drain()
