"""A step of tens of megabytes of logs: it reaches every follower, and the steps after it follow."""

import itertools
from collections.abc import Iterator

import orjson
import pytest
from websockets.sync.client import connect

from foreseal.client import Client, Event, Options
from live import DEV_ACCOUNTS, LiveNode
from live.process import live_node
from live.sending import Sender
from live_node import wait_until

# Emits empty logs until 65,535 gas remain.
LOGS = "0x5b5f5fa061ffff5a115f5700"
GAS = 16_700_000
# The limits of a public connection.
PUBLIC = {"limits.outgoing_bytes": 4 << 20, "limits.outgoing_frames": 4096}


@pytest.fixture(scope="module")
def node() -> Iterator[LiveNode]:
    with live_node(values=PUBLIC) as node:
        yield node


def send_large(node: LiveNode, account: int) -> str:
    """Send a creation that emits 41,000 logs and return its hash."""
    return Sender(node.rpc, DEV_ACCOUNTS[account]).send(to="", data=LOGS, gas=GAS)


def events_with(feed: Iterator[Event], hashes: list[str]) -> list[Event]:
    """Return the events up to the one that completes these transactions."""
    events, missing = [], set(hashes)
    for event in feed:
        events.append(event)
        missing -= {transaction.hash for transaction in event.flashblock.transactions}
        if not missing:
            return events
    raise AssertionError("the feed ended")


def shown_logs(node: LiveNode, hashes: list[str]) -> dict[str, int]:
    """Return the number of logs of each transaction. A large one has a step of its own."""
    for sent in hashes:
        wait_until(lambda sent=sent: node.rpc("eth_getTransactionReceipt", sent) is not None)
    return {sent: len(node.rpc("eth_getTransactionReceipt", sent)["logs"]) for sent in hashes}


@pytest.mark.parametrize("kind", ["http", "ws"])
def test_large_steps_reach_live_and_resuming_followers(node: LiveNode, kind: str) -> None:
    options = Options(max_message_size=4 << 20, poll_interval=0.01)
    with Client(node.url.replace("http", kind), options) as client, client.feed() as feed:
        feed.connect()
        begin = feed.cursor
        large = [send_large(node, account) for account in range(3)]
        small = Sender(node.rpc, DEV_ACCOUNTS[4]).send()
        expected = shown_logs(node, large)
        assert min(expected.values()) > 40_000
        for follower in (feed, client.feed(begin)):
            events = events_with(follower, [*large, small])
            receipts = [receipt for event in events for receipt in event.flashblock.receipts]
            log_counts = {receipt.transaction_hash: len(receipt.logs) for receipt in receipts}
            assert {sent: log_counts.get(sent) for sent in large} == expected
            follower.close()


def test_reader_of_all_pending_logs_receives_each_log_of_a_large_step(node: LiveNode) -> None:
    with connect(node.url.replace("http", "ws"), compression=None, max_size=4 << 20) as socket:
        request = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["pendingLogs"]}
        socket.send(orjson.dumps(request).decode())
        assert "result" in orjson.loads(socket.recv(30))
        large = [send_large(node, account) for account in (5, 6)]
        count = sum(shown_logs(node, large).values())
        indices = [int(orjson.loads(socket.recv(30))["params"]["result"]["logIndex"], 16) for _ in range(count)]
        assert len(indices) == count
        begin = indices[0]
        # Both are in one block, or the second one begins the next block.
        following = [second - first for first, second in itertools.pairwise(indices)]
        assert sum(step != 1 for step in following) <= 1
        assert begin >= 0
