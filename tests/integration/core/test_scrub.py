"""The scrub of a running node: it checks unread data too, and damage ends production."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest

from damage import chain
from foreseal._core import Node
from foreseal.errors import RpcError
from live_node import outcomes, wait_until
from store_pages import replace

# Runs a sequencer until its input ends.
SEQUENCER = """
import sys
from time import sleep
from foreseal._core import Node

node = Node(sys.argv[1].encode())
node.start()
while not (node.ready()[0] or "damaged" in node.health()[1]):
    sleep(0.005)
print("ready", flush=True)
sys.stdin.read()
node.stop()
"""
# Input of a transaction of the chain, on pages that only a request for it reads.
INPUT = b"\xab" * 600


@pytest.fixture
def datadir(tmp_path: Path) -> Path:
    """Return a chain without a running node."""
    chain.make(tmp_path / "chain")
    return tmp_path / "chain"


def settings(datadir: Path, rate: int, **changes: str) -> bytes:
    store = {"recent": 1, "scrub_rate": rate, "scrub_pause": 100}
    return chain.settings(datadir, store=store, step=50, **changes)


@contextmanager
def sequencer(datadir: Path, rate: int) -> Iterator[str]:
    """Run a sequencer in a separate process, and yield its socket."""
    socket = str(datadir.parent / "feed.sock")
    command = [sys.executable, "-c", SEQUENCER, settings(datadir, rate, feed=socket).decode()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield socket


def test_scrub_reads_the_store_repeatedly(datadir: Path) -> None:
    node = Node(settings(datadir, 1 << 30))
    node.start()
    wait_until(lambda: node.ready()[0])
    wait_until(lambda: orjson.loads(node.status())["store"]["scrub"]["passes"] >= 2)
    scrub = orjson.loads(node.status())["store"]["scrub"]
    assert scrub["damaged"] == 0
    assert scrub["total"] > (datadir / "store" / "data.mdb").stat().st_size // 3
    assert scrub["last"] > 1_700_000_000
    assert node.health()[0]
    node.stop()


def test_damage_found_by_the_scrub_stops_production(datadir: Path) -> None:
    replace(datadir, INPUT, INPUT[::-1].replace(b"\xab", b"\xac"), sealed=False)
    node = Node(settings(datadir, 1 << 30))
    node.start()
    wait_until(lambda: not node.health()[0] and "damaged" in node.health()[1])
    assert "store is damaged: table transactions, key " in node.health()[1]
    assert not node.ready()[0]
    # Production stops before the portion that holds the page is counted.
    wait_until(lambda: orjson.loads(node.status())["store"]["scrub"]["damaged"] > 0)
    status = orjson.loads(node.status())
    assert status["phase"] == "failed"
    assert "table transactions" in status["store"]["reason"]
    node.stop()


def test_damage_found_by_a_request_fails_it_and_stops_production(datadir: Path) -> None:
    replace(datadir, INPUT, INPUT[::-1].replace(b"\xab", b"\xac"), sealed=False)
    node = Node(settings(datadir, 0))
    node.start()
    wait_until(lambda: node.ready()[0])
    head = node.freshness()[0]
    wait_until(lambda: node.freshness()[0] > head)
    # The first of these transactions is in the fourth block.
    assert node.call("eth_getBlockByNumber", b'["0x4", true]', 1) is None
    outcome = outcomes(node, 1)[1]
    assert isinstance(outcome, RpcError)
    assert outcome.code == -32603
    assert "store is damaged: table transactions, key " in outcome.message
    wait_until(lambda: not node.health()[0])
    assert "table transactions" in node.health()[1]
    stopped = node.freshness()[0]
    wait_until(lambda: orjson.loads(node.status())["phase"] == "failed")
    assert node.freshness()[0] <= stopped + 1
    node.stop()


@pytest.mark.parametrize("finder", ["sequencer", "follower"])
def test_damage_makes_a_follower_unhealthy(datadir: Path, finder: str) -> None:
    replace(datadir, INPUT, INPUT[::-1].replace(b"\xab", b"\xac"), sealed=False)
    # A follower scrubs the store if no sequencer does.
    rates = {"sequencer": 0, "follower": 0} | {finder: 1 << 30}
    with sequencer(datadir, rates["sequencer"]) as socket:
        follower = Node(settings(datadir, rates["follower"], follow=socket))
        follower.start()
        wait_until(lambda: not follower.health()[0] and "damaged" in follower.health()[1])
        assert "store is damaged: table transactions, key " in follower.health()[1]
        assert not follower.ready()[0]
        wait_until(lambda: orjson.loads(follower.status())["store"]["scrub"]["damaged"] > 0)
        assert "table transactions" in orjson.loads(follower.status())["store"]["reason"]
        follower.stop()
