"""foreseal._core.Node as sequencer and follower in two processes."""

import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from eth_account import Account

from foreseal._core import Node
from foreseal.errors import NodeError, RpcError
from live_node import ALICE, JUNK, outcomes, settings, wait_until

# Runs a sequencer until its input ends.
SEQUENCER = """
import json
import sys
from time import sleep
from foreseal._core import Node

node = Node(sys.argv[1].encode())
node.start()
while not node.ready()[0]:
    sleep(0.005)
print("ready", flush=True)
for line in sys.stdin:
    reports = [[name, lag, metrics.decode()] for name, lag, _, metrics in node.reports()]
    print(json.dumps(reports), flush=True)
node.stop()
"""


class Pair:
    """A sequencer in a separate process, and its followers in this one."""

    def __init__(self, folder: Path) -> None:
        self._datadir = folder / "data"
        self._socket = str(folder / "feed.sock")
        self._process: subprocess.Popen[str] | None = None
        self.followers: list[Node] = []

    def start(self) -> None:
        """Start the sequencer and wait until it is ready."""
        given = settings(self._datadir, feed=self._socket).decode()
        command = [sys.executable, "-c", SEQUENCER, given]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        assert self._read() == "ready"

    def _read(self) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        assert select.select([self._process.stdout], [], [], 60)[0], "the sequencer says nothing"
        return self._process.stdout.readline().strip()

    def reports(self) -> list[Any]:
        """Return the sequencer's reports on its followers."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write("reports\n")
        self._process.stdin.flush()
        return list(orjson.loads(self._read()))

    def kill(self) -> None:
        """Kill the sequencer."""
        assert self._process is not None
        self._process.kill()
        self._end()

    def stop(self) -> None:
        """Stop it gracefully."""
        assert self._process is not None
        process = self._process
        self._end()
        assert process.returncode == 0

    def _end(self) -> None:
        """Close its input, which ends a live process, and wait."""
        process, self._process = self._process, None
        if process is not None:
            process.communicate(timeout=60)

    def follow(self, **changes: Any) -> Node:
        """Start a follower in this process; it may become ready later."""
        node = Node(settings(self._datadir, follow=self._socket, **changes))
        self.followers.append(node)
        node.start()
        return node

    def close(self) -> None:
        """Stop all of them."""
        for node in self.followers:
            node.stop()
        self._end()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """Provide a ready sequencer."""
    made = Pair(tmp_path)
    try:
        made.start()
        yield made
    finally:
        made.close()


@pytest.fixture
def follower(pair: Pair) -> Node:
    """Return a ready follower."""
    node = pair.follow(name="worker-0")
    wait_until(lambda: node.ready()[0])
    return node


def query(node: Node, method: str, *params: Any) -> Any:
    """Return the result of a method, inline or from the worker pool."""
    answer: bytes | RpcError | None = node.call(method, orjson.dumps(params), 1)
    if answer is None:
        answer = outcomes(node, 1)[1]
    if isinstance(answer, RpcError):
        raise answer
    return orjson.loads(answer)


def transfer(nonce: int, value: int = 1) -> str:
    """Return a signed transfer of the first development account to itself."""
    Account.enable_unaudited_hdwallet_features()
    account = Account.from_mnemonic(JUNK)
    fields = {"chainId": 31337, "nonce": nonce, "to": ALICE, "value": value, "gas": 21000, "gasPrice": 10**10}
    return "0x" + bytes(account.sign_transaction(fields).raw_transaction).hex()


def sealed(node: Node) -> int:
    return int(query(node, "eth_blockNumber"), 16)


def test_follower_has_the_chain_of_the_sequencer(follower: Node) -> None:
    status = orjson.loads(follower.status())
    assert (status["role"], status["phase"], status["producing"]) == ("follower", "following", True)
    first = sealed(follower)
    wait_until(lambda: sealed(follower) > first + 1)
    wait_until(lambda: follower.health() == (True, "ok"))
    wait_until(lambda: follower.freshness()[2] < 5_000)
    assert query(follower, "eth_syncing") is False
    assert int(query(follower, "eth_getBalance", ALICE, "pending"), 16) == 10**21


def test_submission_is_visible_to_the_follower_once_answered(follower: Node) -> None:
    for nonce in range(20):
        answered = query(follower, "eth_sendRawTransaction", transfer(nonce))
        assert query(follower, "eth_getTransactionCount", ALICE, "pending") == hex(nonce + 1)
        assert query(follower, "foreseal_transactionStatus", answered)["status"] != "unknown"
    receipt = query(follower, "eth_sendRawTransactionSync", transfer(20), 20_000)
    assert receipt["status"] == "0x1"
    for raw, message in [(transfer(3, 2), "nonce too low"), (transfer(21, 10**22), "insufficient funds")]:
        with pytest.raises(RpcError, match=message) as error:
            query(follower, "eth_sendRawTransaction", raw)
        assert error.value.code == -32000
        assert error.value.data is not None
    with pytest.raises(RpcError) as gap:
        query(follower, "eth_sendRawTransactionSync", transfer(30))
    assert (gap.value.code, gap.value.data) == (6, b'"0x15"')


def test_reads_continue_without_the_sequencer_and_updates_resume_with_it(pair: Pair, follower: Node) -> None:
    hashed = query(follower, "eth_sendRawTransactionSync", transfer(0), 20_000)["transactionHash"]
    pair.kill()
    wait_until(lambda: orjson.loads(follower.status())["phase"] == "disconnected")
    assert query(follower, "eth_getTransactionReceipt", hashed)["status"] == "0x1"
    with pytest.raises(RpcError, match="the sequencer is not reachable: no transactions are accepted until") as error:
        query(follower, "eth_sendRawTransaction", transfer(1))
    assert error.value.code == -32002
    with pytest.raises(RpcError, match="follow"):
        follower.for_admin().call("foreseal_setFinality", b'[{"safe":"0x0"}]', 2) or raise_outcome(follower)
    wait_until(lambda: not follower.ready()[0])
    assert "the sequencer is not reachable" in follower.ready()[1]
    pair.start()
    wait_until(lambda: follower.ready()[0])
    assert query(follower, "eth_getTransactionReceipt", hashed)["status"] == "0x1"
    assert query(follower, "eth_sendRawTransactionSync", transfer(1), 20_000)["status"] == "0x1"


def raise_outcome(node: Node) -> None:
    """Raise the one outcome that is an error."""
    (outcome,) = outcomes(node, 1).values()
    assert isinstance(outcome, RpcError)
    raise outcome


def test_the_sequencer_has_the_metrics_of_its_followers(pair: Pair, follower: Node) -> None:
    follower.report(b"one 1\n")
    wait_until(lambda: pair.reports() == [["worker-0", 0, "one 1\n"]])
    follower.stop()
    wait_until(lambda: pair.reports() == [])


def test_clean_stop_ends_sequencer_and_follower(pair: Pair, follower: Node) -> None:
    pair.stop()
    wait_until(lambda: orjson.loads(follower.status())["phase"] == "disconnected")
    follower.stop()
    assert orjson.loads(follower.status())["phase"] == "stopped"


def test_unusable_feed_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(NodeError) as absent:
        Node(settings(tmp_path / "none", follow=str(tmp_path / "feed.sock")))
    assert absent.value.kind == "genesis"
    with pytest.raises(NodeError, match="not both"):
        Node(settings(tmp_path / "none", follow="one", feed="two"))


def test_a_subscription_on_a_follower_gets_the_sequencers_steps(follower: Node) -> None:
    subscribed = follower.subscribe(b'["newHeads"]')
    assert subscribed is not None
    told: list[Any] = []

    def heads(wanted: int) -> Callable[[], bool]:
        def enough() -> bool:
            for channel, _, messages, _ in follower.drain()[1]:
                if channel == subscribed[0] and messages:
                    told.extend(orjson.loads(message) for message in messages)
            return len(told) >= wanted

        return enough

    wait_until(heads(2))
    numbers = [int(head["number"], 16) for head in told]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
