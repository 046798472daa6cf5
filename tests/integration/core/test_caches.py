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
QUEUES = {"sealed_blocks", "unstored_blocks", "queued_views", "frames", "reorged_blocks"}


@pytest.fixture
def datadir(tmp_path: Path) -> Path:
    """Return a chain without a running node."""
    chain.make(tmp_path / "chain")
    return tmp_path / "chain"


@contextmanager
def started(datadir: Path, **caches: int) -> Iterator[Node]:
    """Run a node with these capacities."""
    node = Node(chain.settings(datadir, produce=False, caches=caches))
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
    found: dict[str, dict[str, int]] = orjson.loads(node.metrics())["caches"]
    return found


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


def test_a_capacity_of_zero_disables_a_cache(datadir: Path) -> None:
    with started(datadir, **dict.fromkeys(NAMES, 0)) as node:
        read(node)
        found = caches(node)
    empty = {"hits": 0, "misses": 0, "bytes": 0, "capacity": 0}
    assert {name: found[name] for name in NAMES} == dict.fromkeys(NAMES, empty)
