"""pytest-benchmark of foreseal._core.Node: inline calls, and the round trip to the worker pool."""

import select
from collections.abc import Iterator

import orjson
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from foreseal._core import Node
from live_node import ALICE, settings, wait_until

IN_PLACE = {
    "eth_blockNumber": b"[]",
    "eth_getBalance": orjson.dumps([ALICE, "pending"]),
    "eth_getTransactionCount": orjson.dumps([ALICE, "pending"]),
    "foreseal_status": b"[]",
}
ON_CORE_THREADS = {
    "eth_getBlockByNumber": b'["pending",true]',
    "eth_call": orjson.dumps([{"to": ALICE}, "pending"]),
    "eth_estimateGas": orjson.dumps([{"from": ALICE, "to": ALICE, "value": "0x1"}, "pending"]),
}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    node = Node(settings(tmp_path_factory.mktemp("node")))
    node.start()
    wait_until(lambda: node.ready()[0])
    yield node
    node.stop()


@pytest.mark.parametrize("method", IN_PLACE)
def test_inline_call(benchmark: BenchmarkFixture, node: Node, method: str) -> None:
    benchmark.group = "in place"
    assert benchmark(node.call, method, IN_PLACE[method], 0) is not None


@pytest.mark.parametrize("method", ON_CORE_THREADS)
def test_worker_pool_call(benchmark: BenchmarkFixture, node: Node, method: str) -> None:
    """Submit the call, wait for the descriptor, read the outcome."""
    benchmark.group = "on a core thread"
    descriptor, params = [node.event_fd()], ON_CORE_THREADS[method]

    def there_and_back() -> object:
        assert node.call(method, params, 1) is None
        select.select(descriptor, [], [])
        return node.drain()[0][0][1]

    assert isinstance(benchmark(there_and_back), bytes)


def test_freshness(benchmark: BenchmarkFixture, node: Node) -> None:
    benchmark.group = "in place"
    benchmark(node.freshness)
