"""pytest-benchmark of the Python boundary: from request bytes to response bytes, without a socket."""

import asyncio
from collections.abc import Iterator

import orjson
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from foreseal._core import Node
from foreseal.rpc import Dispatcher, HttpReply, Limits, Registry
from live_node import ALICE, settings, wait_until

BODIES = {
    method: orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    for method, params in {"eth_blockNumber": [], "eth_getBalance": [ALICE, "latest"]}.items()
}
BATCH = b"[%b]" % b",".join([BODIES["eth_getBalance"]] * 100)


@pytest.fixture(scope="module")
def dispatcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dispatcher]:
    node = Node(settings(tmp_path_factory.mktemp("node")))
    node.start()
    wait_until(lambda: node.ready()[0])
    yield Dispatcher(node, Limits(), Registry())
    node.stop()


@pytest.mark.parametrize("method", BODIES)
def test_one_call(benchmark: BenchmarkFixture, dispatcher: Dispatcher, method: str) -> None:
    benchmark.group = "edge"
    status, answer, _ = benchmark(dispatcher.answer, BODIES[method])
    assert (status, b'"result":"0x' in answer) == (200, True)


def test_a_batch_of_100(benchmark: BenchmarkFixture, dispatcher: Dispatcher) -> None:
    benchmark.group = "edge"
    with asyncio.Runner() as runner:

        async def answer() -> HttpReply:
            reply = dispatcher.answer(BATCH)
            return reply if isinstance(reply, tuple) else await reply

        status, answers, _ = benchmark(lambda: runner.run(answer()))
    assert (status, answers.count(b'"result":"0x')) == (200, 100)
