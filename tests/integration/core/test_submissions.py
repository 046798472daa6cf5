"""Bodies with only submissions, which go to the core whole: the responses equal those of the slow path."""

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from foreseal._core import Node, Submitted
from foreseal.bench.chain_content import BenchAccount, accounts, native
from foreseal.errors import RpcError
from foreseal.rpc import Dispatcher, Limits, Registry
from foreseal.rpc.submissions import METHOD, SubmittedBody
from live_node import settings, wait_until

TO = b"\xaa" * 20


class World:
    """A node without steps, so that the pool retains its transactions."""

    def __init__(self, folder: Path) -> None:
        self.node = Node(settings(folder / "data", block_time=86_400_000, step=86_400_000))
        self.registry = Registry()
        self.dispatcher = Dispatcher(self.node, Limits(batch=50), self.registry)
        self.node.start()
        wait_until(lambda: self.node.ready()[0])

    def answer(self, body: bytes) -> Any:
        return asyncio.run(self._answered(body))

    async def _answered(self, body: bytes) -> Any:
        completions = self.dispatcher.router.completions
        completions.attach(asyncio.get_running_loop())
        try:
            reply: Any = self.dispatcher.answer(body)
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


def submitted_bodies(world: World, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return a list that records submitted bodies from now on."""
    seen: list[bytes] = []
    respond = world.dispatcher.respond

    def watched(data: bytes, start: int = 0, head: bytes | None = None, limiter: Any = None) -> Any:
        found = respond(data, start, head, limiter)
        if isinstance(found, Submitted):
            seen.append(data[start:])
        return found

    monkeypatch.setattr(world.dispatcher, "respond", watched)
    return seen


def test_a_call_and_a_batch_are_answered_and_counted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = submitted_bodies(world, monkeypatch)
    [sender] = accounts(1)
    first, *more = calls(sender, 41)
    single, batch, one = orjson.dumps(first), orjson.dumps(more[:39]), orjson.dumps(more[39:])
    assert world.answer(single)["id"] == "n0"
    answers = world.answer(batch)
    assert [answer["id"] for answer in answers] == [call["id"] for call in more[:39]]
    assert all(len(answer["result"]) == 66 for answer in answers)
    assert isinstance(world.answer(one), list)
    assert seen == [single, batch, one]
    assert world.answered() == 41


@pytest.mark.parametrize("count", [1, 2, 20])
def test_response_with_a_head_is_complete_http(world: World, count: int) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
    body = orjson.dumps(calls(accounts(1)[0], count) if count > 1 else calls(accounts(1)[0], 1)[0])
    again, known = (_response_to(world, b"head" + body, 4, head) for _ in range(2))
    first, _, answer = again.partition(b"\r\n\r\n")
    assert first.startswith(head + b"x-foreseal-view: 1.0; age=")
    assert first.endswith(b"\r\ncontent-length: %d" % len(answer))
    answers = orjson.loads(answer)
    one = answers if count > 1 else [answers]
    assert [(each["id"], len(each["result"])) for each in one] == [(f"n{at}", 66) for at in range(count)]
    assert known.startswith((b"[{", b"{")), "with an error among them there is no head"
    assert world.answered() == count


def _response_to(world: World, data: bytes, start: int, head: bytes) -> bytes:
    """Return the response to the body at `start` of `data` behind `head`."""

    async def play() -> bytes:
        completions = world.dispatcher.router.completions
        completions.attach(asyncio.get_running_loop())
        told = asyncio.get_running_loop().create_future()
        submitted = world.dispatcher.respond(data, start, head)
        assert isinstance(submitted, Submitted)
        world.dispatcher.expect(submitted, told.set_result)
        try:
            return world.dispatcher.finish(await told)[1]
        finally:
            completions.detach()

    return asyncio.run(play())


def test_errors_equal_those_of_the_slow_path(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    [sender] = accounts(1)
    good, again = calls(sender, 1) * 2
    bad = good | {"params": ["0x05c0"], "id": 5}
    none = good | {"params": [], "id": None}
    body = orjson.dumps([bad, good, again, none])
    answers = world.answer(body)
    assert "result" in answers.pop(1)
    assert world.dispatcher.call_metrics.failed.total() == 3
    monkeypatch.setattr(world.dispatcher, "respond", lambda *_: None)
    assert [world.answer(orjson.dumps(call)) for call in (bad, again, none)] == answers


def test_body_with_another_call_takes_the_slow_path(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = submitted_bodies(world, monkeypatch)
    [sender] = accounts(1)
    other = {"jsonrpc": "2.0", "id": 9, "method": "eth_chainId", "params": []}
    [sent, chain] = world.answer(orjson.dumps([*calls(sender, 1), other]))
    assert (len(sent["result"]), chain["result"]) == (66, "0x7a69")
    assert seen == []


def test_method_registered_from_python_replaces_submission(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = submitted_bodies(world, monkeypatch)

    @world.registry.method(METHOD)
    def mine(raw: str) -> str:
        return raw

    [call] = calls(accounts(1)[0], 1)
    assert world.answer(orjson.dumps(call))["result"] == call["params"][0]
    assert seen == []


def test_rejected_body_has_an_error_for_each_call(world: World) -> None:
    error = RpcError(-32002, "the node is stopping", None)
    submission = SubmittedBody(lambda _: None, 0.0, 2, is_batch=True)
    submission.set_result([(b'"n0"', error), (b'"n1"', error)])
    status, answer, _ = world.dispatcher.finish(submission)
    assert status == 200
    assert [(one["id"], one["error"]["code"]) for one in orjson.loads(answer)] == [("n0", -32002), ("n1", -32002)]


def test_stopped_node_rejects_submissions(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = submitted_bodies(world, monkeypatch)
    [call] = calls(accounts(1)[0], 1)
    world.node.stop()
    assert world.answer(orjson.dumps(call))["error"]["code"] == -32002
    assert seen == []
