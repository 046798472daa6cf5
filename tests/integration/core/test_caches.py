"""The caches of the core: metrics count their use, and capacities bound them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from damage import chain
from foreseal._core import Node
from live_node import outcomes, wait_until

NAMES = {"accounts", "slots", "code", "blocks", "step_states", "log_json", "block_json"}
# Uses of memory that are bounded like caches.
QUEUES = {"sealed_blocks", "unstored_blocks", "queued_views", "frames", "reorged_blocks", "driver_blocks", "pool"}


@pytest.fixture
def datadir(tmp_path: Path) -> Path:
    """Return a chain without a running node."""
    chain.make(tmp_path / "chain")
    return tmp_path / "chain"


@contextmanager
def started(datadir: Path, **given: int) -> Iterator[Node]:
    """Run a node with these settings."""
    node = Node(chain.settings(datadir, produce=False, **given))
    node.start()
    wait_until(lambda: node.ready()[0])
    try:
        yield node
    finally:
        node.stop()


def read(node: Node) -> None:
    """Read a block, an account and the logs twice."""
    calls: list[tuple[str, list[Any]]] = [
        ("eth_getBlockByNumber", ["0x5", True]),
        ("eth_getBalance", ["0x" + f"{3:040x}", "0x5"]),
        ("eth_getLogs", [{"fromBlock": "0x0", "toBlock": "0x20"}]),
    ]
    for ticket, (method, params) in enumerate(calls * 2, start=1):
        answer: object = node.call(method, orjson.dumps(params), ticket)
        if answer is None:
            answer = outcomes(node, 1)[ticket]
        assert isinstance(answer, bytes), answer


def caches(node: Node) -> dict[str, dict[str, int]]:
    figures: dict[str, dict[str, int]] = orjson.loads(node.metrics())["caches"]
    return figures


def test_metrics_move_when_caches_are_used(datadir: Path) -> None:
    with started(datadir) as node:
        before = caches(node)
        read(node)
        after = caches(node)
    assert set(before) == NAMES | QUEUES
    for name in ("accounts", "blocks", "block_json"):
        assert after[name]["hits"] > before[name]["hits"], name
        assert after[name]["misses"] > before[name]["misses"], name
        assert 0 < after[name]["bytes"] <= after[name]["capacity"], name


def status(node: Node) -> dict[str, Any]:
    answer = node.call("foreseal_status", b"[]", 1)
    assert isinstance(answer, bytes)
    report: dict[str, Any] = orjson.loads(answer)
    return report


def test_the_memory_budget_is_divided_among_caches_and_queues(datadir: Path) -> None:
    budget = 24 << 20
    with started(datadir, memory=budget) as node:
        read(node)
        figures, memory = caches(node), status(node)["memory"]
    shares = {name: cache["capacity"] for name, cache in figures.items()}
    # Blocks that the store does not have are sealed blocks too.
    assert shares.pop("unstored_blocks") == shares["sealed_blocks"]
    assert sum(shares.values()) == budget
    used = sum(cache["bytes"] for name, cache in figures.items() if name != "unstored_blocks")
    assert memory == {"budget": budget, "bytes": used}
    assert all(cache["bytes"] <= cache["capacity"] for cache in figures.values())
