"""Bodies with only submissions, which the worker threads process as a unit."""

import asyncio
import time
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from foreseal._core import Buckets, Caller, Node, PendingBody
from foreseal.bench.chain_content import BenchAccount, accounts, native
from foreseal.rpc import Dispatcher, Limits, Registry
from foreseal.rpc.rate import Rate
from foreseal.rpc.rate_limiter import RateLimiter, TokenBucket
from live_node import settings, wait_until

TO = b"\xaa" * 20
METHOD = "eth_sendRawTransaction"


class World:
    """A node without steps, so that the pool retains its transactions."""

    def __init__(self, folder: Path) -> None:
        self.node = Node(settings(folder / "data", block_time=86_400_000, step=86_400_000))
        self.registry = Registry()
        self.dispatcher = Dispatcher(self.node, Limits(batch=50), self.registry)
        self.node.start()
        wait_until(lambda: self.node.ready()[0])

    def answer(self, body: bytes, limiter: RateLimiter | None = None) -> Any:
        return asyncio.run(self._answered(body, limiter))

    async def _answered(self, body: bytes, limiter: RateLimiter | None) -> Any:
        completions = self.dispatcher.router.completions
        completions.attach(asyncio.get_running_loop())
        try:
            reply: Any = self.dispatcher.answer(body, None, limiter)
            status, answer, _ = reply if isinstance(reply, tuple) else await reply
            assert status == 200
            assert len(completions) == 0
            return orjson.loads(answer)
        finally:
            completions.detach()

    def answered(self) -> int:
        """Return the number of successful submissions."""
        return self.dispatcher.call_metrics.answered.get(METHOD, 0)


@pytest.fixture
def world(tmp_path: Path) -> Any:
    world = World(tmp_path)
    yield world
    world.node.stop()


def calls(account: BenchAccount, count: int) -> list[dict[str, Any]]:
    signed = account.sign(31337, [native(TO) for _ in range(count)])
    return [{"jsonrpc": "2.0", "id": f"n{at}", "method": METHOD, "params": [one.raw]} for at, one in enumerate(signed)]


def test_a_call_and_a_batch_are_answered_and_counted(world: World) -> None:
    [sender] = accounts(1)
    first, *more = calls(sender, 41)
    single, batch, one = orjson.dumps(first), orjson.dumps(more[:39]), orjson.dumps(more[39:])
    assert world.answer(single)["id"] == "n0"
    answers = world.answer(batch)
    assert [answer["id"] for answer in answers] == [call["id"] for call in more[:39]]
    assert all(len(answer["result"]) == 66 for answer in answers)
    assert isinstance(world.answer(one), list)
    assert world.answered() == 41


@pytest.mark.parametrize("count", [1, 40])
def test_a_body_of_submissions_waits_for_the_core_alone(world: World, count: int) -> None:
    several = calls(accounts(1)[0], count)
    body = orjson.dumps(several if count > 1 else several[0])

    async def play() -> None:
        completions = world.dispatcher.router.completions
        completions.attach(asyncio.get_running_loop())
        pending = world.dispatcher.respond(body)
        assert isinstance(pending, PendingBody)
        told = asyncio.get_running_loop().create_future()
        # One for each chunk of 16 calls.
        assert world.node.running <= -(-count // 16)
        assert pending.waits_for_core
        wait = world.dispatcher.wait_for(pending)
        wait.notify(lambda: told.set_result(None))
        await told
        status, answer, _ = world.dispatcher.end(pending)
        answers = orjson.loads(bytes(answer))
        assert [each["id"] for each in (answers if count > 1 else [answers])] == [f"n{at}" for at in range(count)]
        assert (status, world.node.running, len(completions)) == (200, 0, 0)
        completions.detach()

    asyncio.run(play())
    assert world.answered() == count


def test_limited_callers_pay_for_each_submission(world: World) -> None:
    buckets, rate = Buckets(None, 8), Rate(1, 3600)
    caller = Caller(b"someone", False, buckets, 0, 1, (rate.interval, 25))
    bucket = TokenBucket(buckets, b"someone", rate, 25, lambda: time.monotonic_ns() // 1000)
    limiter = RateLimiter(bucket, 4, Counter(), scheduled=caller)
    several = calls(accounts(1)[0], 30)
    assert all("result" in answer for answer in world.answer(orjson.dumps(several[:20]), limiter))
    answers = world.answer(orjson.dumps(several[20:]), limiter)
    assert ["result" in answer for answer in answers] == [True] * 5 + [False] * 5
    assert {answer["error"]["data"]["limit"] for answer in answers[5:]} == {"rate"}
    assert (world.answered(), limiter.running) == (25, 0)


def test_errors_in_a_batch_are_those_of_single_calls(world: World) -> None:
    [sender] = accounts(1)
    good, again = calls(sender, 1) * 2
    bad = good | {"params": ["0x05c0"], "id": 5}
    none = good | {"params": [], "id": None}
    body = orjson.dumps([bad, good, again, none])
    answers = world.answer(body)
    assert "result" in answers.pop(1)
    assert world.dispatcher.call_metrics.failed.total() == 3
    assert [world.answer(orjson.dumps(call)) for call in (bad, again, none)] == answers


def test_body_with_another_call_is_answered(world: World) -> None:
    [sender] = accounts(1)
    other = {"jsonrpc": "2.0", "id": 9, "method": "eth_chainId", "params": []}
    [sent, chain] = world.answer(orjson.dumps([*calls(sender, 1), other]))
    assert (len(sent["result"]), chain["result"]) == (66, "0x7a69")


def test_method_registered_from_python_replaces_submission(world: World) -> None:

    @world.registry.method(METHOD)
    def mine(raw: str) -> str:
        return raw

    [call] = calls(accounts(1)[0], 1)
    assert world.answer(orjson.dumps(call))["result"] == call["params"][0]


def test_stopped_node_rejects_submissions(world: World) -> None:
    several = calls(accounts(1)[0], 20)
    world.node.stop()
    assert world.answer(orjson.dumps(several[0]))["error"]["code"] == -32002
    assert {answer["error"]["code"] for answer in world.answer(orjson.dumps(several))} == {-32002}
