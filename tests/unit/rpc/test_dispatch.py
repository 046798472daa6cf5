"""Request bodies and responses, over a double of the core."""

import asyncio
import gc
import time
import tracemalloc
from collections import Counter
from collections.abc import Awaitable
from typing import Any

import orjson
import pytest

from foreseal._core import Buckets, Caller
from foreseal.errors import RpcError
from foreseal.rpc import Dispatcher, Limits, Registry
from foreseal.rpc.dispatch import HttpReply
from foreseal.rpc.rate_limiter import CpuBudget, RateLimiter

from access_doubles import FakeCaller
from fake_core import FakeNode


@pytest.fixture
def node() -> FakeNode:
    return FakeNode()


def dispatcher(node: FakeNode, limits: Limits | None = None, **more: Any) -> Dispatcher:
    return Dispatcher(node, limits or Limits(), more.pop("registry", Registry()), **more)


def call(method: str, *params: Any, ident: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": ident, "method": method, "params": list(params)}


def dispatch(subject: Dispatcher, request: Any) -> tuple[int, Any]:
    """Return the status and parsed response to one body, on a new event loop; None without a response."""
    body = request if isinstance(request, bytes) else orjson.dumps(request)

    async def answered() -> HttpReply:
        subject.router.completions.attach(asyncio.get_running_loop())
        try:
            reply = subject.answer(body)
            return await reply if isinstance(reply, Awaitable) else reply
        finally:
            subject.router.completions.detach()

    status, answer, _ = asyncio.run(answered())
    return status, orjson.loads(answer) if answer else None


def error_of(answer: dict[str, Any]) -> tuple[Any, int, Any]:
    assert set(answer) == {"jsonrpc", "id", "error"}
    return answer["id"], answer["error"]["code"], answer["error"].get("data")


def test_an_inline_call_is_answered_without_a_loop(node: FakeNode) -> None:
    assert dispatcher(node).answer(orjson.dumps(call("eth_blockNumber", ident="a"))) == (
        200,
        b'{"jsonrpc":"2.0","id":"a","result":"0x0"}',
        0,
    )


def test_errors_of_the_node_include_their_data(node: FakeNode) -> None:
    status, answer = dispatch(dispatcher(node), call("reverts"))
    assert (status, answer["error"]) == (200, {"code": -32000, "message": "execution reverted", "data": "0x"})
    _, answer = dispatch(dispatcher(node), call("fails"))
    assert answer["error"] == {"code": -32000, "message": "nonce too low"}
    assert error_of(dispatch(dispatcher(node), call("nothing"))[1]) == (1, -32601, None)


def test_params_of_a_failed_call_are_freed_without_the_collector(node: FakeNode) -> None:
    asking = dispatcher(node)
    body = orjson.dumps(call("fails", ["x" * 1_000_000]))
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(10):
            dispatch(asking, body)
            node.calls.clear()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert held < 3_000_000


@pytest.mark.parametrize("body", [b"", b"{", b"nonsense", b'{"a":"\xff"}', b"\xff\xfe", b"[" * 10_000 + b"]" * 10_000])
def test_invalid_json_is_a_parse_error(node: FakeNode, body: bytes) -> None:
    status, answer = dispatch(dispatcher(node), body)
    assert (status, error_of(answer)) == (200, (None, -32700, None))


def test_worker_pool_call_is_awaited(node: FakeNode) -> None:
    assert dispatch(dispatcher(node), call("slow", "x")) == (200, {"jsonrpc": "2.0", "id": 1, "result": ["x"]})
    assert error_of(dispatch(dispatcher(node), call("slow_fails"))[1]) == (1, 3, "0x01")


def test_notifications_are_executed_without_a_response(node: FakeNode) -> None:
    request = call("echo", 1)
    del request["id"]
    assert dispatch(dispatcher(node), request) == (204, None)
    assert dispatch(dispatcher(node), [request, request | {"method": "slow"}, request | {"method": "nothing"}]) == (
        204,
        None,
    )
    assert [method for method, _ in node.calls] == ["echo", "echo", "slow", "nothing"]


def test_batch_preserves_order_around_an_invalid_entry(node: FakeNode) -> None:
    requests = [
        call("slow", 1, ident=1),
        7,
        call("echo", 2, ident="two"),
        {"jsonrpc": "2.0", "method": "echo"},
        call("slow", 3, ident=3),
        call("slow_fails", ident=4),
        {"jsonrpc": "2.0", "id": 5, "method": "echo", "params": {}},
        call("nothing", ident=6),
        [],
    ]
    status, answers = dispatch(dispatcher(node), requests)
    assert status == 200
    assert [answer["id"] for answer in answers] == [1, None, "two", 3, 4, 5, 6, None]
    outcomes = [answer.get("result", answer.get("error", {}).get("code")) for answer in answers]
    assert outcomes == [[1], -32600, [2], [3], 3, -32602, -32601, -32600]


def test_a_batch_is_answered_from_one_view(node: FakeNode) -> None:
    _, answers = dispatch(dispatcher(node), [call("eth_blockNumber", ident=i) for i in range(5)])
    assert {answer["result"] for answer in answers} == {"0x0"}
    _, answers = dispatch(dispatcher(node), [call("eth_blockNumber")])
    assert answers[0]["result"] == "0x5"


def test_batch_longer_than_the_worker_queue_is_answered_completely(node: FakeNode) -> None:
    _, answers = dispatch(dispatcher(node), [call("slow", i, ident=i) for i in range(200)])
    assert [answer["result"] for answer in answers] == [[i] for i in range(200)]


@pytest.mark.parametrize("body", [b"[]", b"{}", b"1", b"null", b'"x"'])
def test_body_that_is_not_a_request_is_rejected(node: FakeNode, body: bytes) -> None:
    assert error_of(dispatch(dispatcher(node), body)[1]) == (None, -32600, None)


def test_exceeded_limit_is_named(node: FakeNode) -> None:
    subject = dispatcher(node, Limits(batch=3, depth=5, response=10))
    _, answer = dispatch(subject, [call("echo")] * 4)
    assert error_of(answer) == (None, -32005, {"limit": "batch", "max": 3})
    _, answer = dispatch(subject, call("echo", [[[[1]]]]))
    assert error_of(answer) == (None, -32005, {"limit": "depth", "max": 5})
    assert dispatch(subject, call("echo", [[1], {}]))[1]["result"] == [[[1], {}]]
    assert dispatch(subject, call("large", 8))[1]["result"] == "x" * 8
    assert error_of(dispatch(subject, call("large", 9))[1]) == (1, -32005, {"limit": "response", "max": 10})


def test_a_batch_shares_one_response_allowance(node: FakeNode) -> None:
    subject = dispatcher(node, Limits(response=20))
    _, answers = dispatch(subject, [call("large", 8, ident=1), call("large", 9, ident=2), call("echo", ident=3)])
    assert answers[0]["result"] == "x" * 8
    assert [error_of(answer) for answer in answers[1:]] == [
        (ident, -32005, {"limit": "response", "max": 20}) for ident in (2, 3)
    ]
    assert ("echo", b"[]") not in node.calls, "what cannot be answered must not be run"


def test_params_at_the_depth_limit_reach_the_node(node: FakeNode) -> None:
    deep = orjson.loads(b"[" * 248 + b"]" * 248)
    assert dispatch(dispatcher(node, Limits(depth=250)), call("echo", deep))[1]["result"] == [deep]


def test_forbidden_method_is_403_and_an_error_in_a_batch(node: FakeNode) -> None:
    subject = dispatcher(node, forbidden={"eth_getBlockReceipts": "not for you"})
    status, answer = dispatch(subject, call("eth_getBlockReceipts", "latest"))
    assert (status, error_of(answer)) == (403, (1, -32004, None))
    status, answers = dispatch(subject, [call("eth_getBlockReceipts", "latest", ident=1), call("echo", ident=2)])
    assert (status, error_of(answers[0]), answers[1]["result"]) == (200, (1, -32004, None), [])
    assert dispatch(dispatcher(node), call("eth_getBlockReceipts", "latest"))[0] == 200


async def test_too_many_worker_pool_calls_are_429(node: FakeNode) -> None:
    subject = dispatcher(node, Limits(calls=2))
    node.hold = True
    subject.router.completions.attach(asyncio.get_running_loop())
    body = orjson.dumps(call("slow"))
    first, second = subject.answer(body), subject.answer(body)
    status, answer, seconds = subject.answer(body)
    assert (status, seconds) == (429, 1)
    assert error_of(orjson.loads(answer)) == (1, -32005, {"limit": "calls", "max": 2})
    node.release()
    assert [(await first)[0], (await second)[0]] == [200, 200]
    node.hold = False
    assert (await subject.answer(body))[0] == 200
    subject.router.completions.detach()


async def test_drain_waits_for_every_call_in_progress(node: FakeNode) -> None:
    subject = dispatcher(node)
    node.hold = True
    completions = subject.router.completions
    completions.attach(asyncio.get_running_loop())
    await completions.wait_until_idle()
    waiting = subject.answer(orjson.dumps(call("slow")))
    drained = asyncio.ensure_future(completions.wait_until_idle())
    await asyncio.sleep(0)
    assert not drained.done()
    node.release()
    await drained
    assert (await waiting)[0] == 200
    completions.detach()


def test_registered_methods_respond_and_their_failures_are_isolated(node: FakeNode) -> None:
    registry = Registry()

    @registry.method("demo_add")
    def add(left: int, right: int = 1) -> int:
        return left + right

    @registry.method("demo_later")
    async def later() -> str:
        await asyncio.sleep(0)
        return "done"

    @registry.method("demo_refuses")
    def refuses() -> None:
        raise RpcError(-32050, "not today", b'{"tomorrow":true}')

    @registry.method("demo_breaks")
    async def breaks() -> None:
        raise ZeroDivisionError

    subject = dispatcher(node, registry=registry)
    assert dispatch(subject, call("demo_add", 2, 3))[1]["result"] == 5
    assert dispatch(subject, [call("demo_later"), call("demo_add", 1)])[1][1]["result"] == 2
    assert dispatch(subject, call("demo_later"))[1]["result"] == "done"
    assert error_of(dispatch(subject, call("demo_add"))[1])[1] == -32602
    assert error_of(dispatch(subject, call("demo_refuses"))[1]) == (1, -32050, {"tomorrow": True})
    assert error_of(dispatch(subject, call("demo_breaks"))[1]) == (1, -32603, None)
    with pytest.raises(ValueError, match="demo_add is already registered"):
        registry.method("demo_add")(add)


def test_calls_are_counted_by_existing_method(node: FakeNode) -> None:
    subject = dispatcher(node)
    for request in (call("echo"), call("echo"), call("fails"), call("made-up-1"), call("made-up-2"), 7):
        dispatch(subject, request)
    assert subject.call_metrics.answered == {"echo": 2}
    assert subject.call_metrics.failed == {("fails", -32000): 1, ("", -32601): 2, ("", -32600): 1}


def cancelled(subject: Dispatcher, node: FakeNode, request: Any, submitted: int) -> list[int]:
    """Cancel a body once `submitted` calls wait; return the tickets of the cancelled calls."""

    async def scenario() -> None:
        node.hold = True
        subject.router.completions.attach(asyncio.get_running_loop())
        reply = subject.answer(orjson.dumps(request))
        assert isinstance(reply, Awaitable)
        task = asyncio.ensure_future(reply)
        await asyncio.sleep(0)
        # On a busy machine the calls of a batch need more than one slice of the event loop.
        while len(node.held) < submitted:  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        subject.router.completions.detach()

    asyncio.run(scenario())
    return node.cancelled


def test_a_cancelled_answer_ends_its_call(node: FakeNode) -> None:
    assert cancelled(dispatcher(node), node, call("slow"), 1) == [0]


def test_a_cancelled_batch_ends_all_its_calls(node: FakeNode) -> None:
    batch = [call("eth_blockNumber"), call("slow"), call("slow"), call("slow")]
    assert sorted(set(cancelled(dispatcher(node), node, batch, 3))) == [0, 1, 2]


def budgeted(debt: int = 0, rate: int = 1, burst: int = 1) -> tuple[RateLimiter, Counter[str]]:
    """Return a caller with `rate` ms of processor time a second that has used `debt` us, and its refusals."""
    caller, refusals = Caller(b"someone", False, Buckets(None, 64), rate, burst), Counter[str]()
    caller.charge(time.monotonic_ns() // 1000, debt)
    budget = CpuBudget(caller, lambda: time.monotonic_ns() // 1000, rate=rate, burst=burst)
    return RateLimiter(None, None, refusals, scheduled=caller, cpu=budget), refusals


def test_an_exhausted_budget_of_processor_time_is_429(node: FakeNode) -> None:
    limiter, refusals = budgeted(650_000, 100, 500)
    reply = dispatcher(node).answer(orjson.dumps(call("eth_blockNumber")), None, limiter)
    assert isinstance(reply, tuple)
    status, answer, seconds = reply
    ident, code, data = error_of(orjson.loads(answer))
    assert (status, seconds, ident, code) == (429, 2, 1, -32005)
    assert (data["limit"], data["max"]) == ("cpu", 100)
    # And the parse of this body.
    assert 1400 < data["retryAfterMs"] < 1900
    assert (refusals, node.calls) == ({"cpu": 1}, [])


def test_exhausting_call_is_followed_by_429(node: FakeNode) -> None:
    async def scenario() -> HttpReply:
        node.hold = True
        subject.router.completions.attach(asyncio.get_running_loop())
        reply = subject.answer(orjson.dumps(call("slow")))
        ticket, _ = node.held.pop()
        node.held.append((ticket, lambda: RpcError(-32005, "used up", b'{"limit":"cpu","retryAfterMs":1200}')))
        node.release()
        assert isinstance(reply, Awaitable)
        return await reply

    subject = dispatcher(node)
    status, _, seconds = asyncio.run(scenario())
    assert (status, seconds) == (429, 2)


def test_large_and_small_bodies_get_the_same_response(node: FakeNode) -> None:
    status, answer = dispatch(dispatcher(node), call("echo", "x" * 100_000))
    assert status == 200
    assert answer["result"] == ["x" * 100_000]


def test_caller_with_few_calls_is_admitted_above_the_total_limit(node: FakeNode) -> None:
    async def scenario() -> None:
        node.hold = True
        subject.router.completions.attach(asyncio.get_running_loop())
        crowd, other = (RateLimiter(None, None, Counter(), scheduled=FakeCaller()) for _ in range(2))
        callers = (*[crowd] * 10, *[other] * 5, None)
        replies = [subject.answer(body, None, limiter) for limiter in callers]
        statuses = [reply[0] if isinstance(reply, tuple) else None for reply in replies]
        # The crowd has four times the limit of all, others a few calls more.
        assert statuses == [*[None] * 8, 429, 429, *[None] * 4, 429, 429]
        node.release()
        assert [(await reply)[0] for reply in replies if isinstance(reply, Awaitable)] == [200] * 12

    subject = dispatcher(node, Limits(calls=2))
    body = orjson.dumps(call("slow"))
    asyncio.run(scenario())


@pytest.mark.parametrize("body", [b"[" * 300 + b"]" * 300, b"{", b"[]"])
def test_parsing_is_charged_without_a_call(node: FakeNode, body: bytes) -> None:
    subject, (limiter, refusals) = dispatcher(node), budgeted()
    # A parse takes a few us of the thousand.
    assert any(subject.answer(body, None, limiter)[0] == 429 for _ in range(100_000))  # type: ignore[index]
    assert (refusals, node.calls) == ({"cpu": 1}, [])


def test_larger_body_of_an_exhausted_caller_is_rejected_unparsed(node: FakeNode) -> None:
    limiter, _ = budgeted(2_000)
    reply = dispatcher(node).answer(b"{" + b" " * 3000, None, limiter)
    assert isinstance(reply, tuple)
    status, answer, _ = reply
    assert status == 429
    # Parsing would result in a parse error.
    assert error_of(orjson.loads(answer))[:2] == (None, -32005)


@pytest.mark.parametrize("content", ["[],", "{},", "1,", '"",'])
def test_a_body_with_too_many_values_is_rejected_unparsed(node: FakeNode, content: str) -> None:
    body = ("[" + 2000 * content + "1").encode()
    assert error_of(dispatch(dispatcher(node, Limits(values=1500)), body)[1]) == (
        None,
        -32005,
        {"limit": "values", "max": 1500},
    )
    assert error_of(dispatch(dispatcher(node, Limits(values=9000)), body)[1])[1] == -32700


def test_canceled_call_holds_its_slot_until_the_worker_ends(node: FakeNode) -> None:
    async def scenario() -> None:
        node.hold = True
        completions = subject.router.completions
        completions.attach(asyncio.get_running_loop())
        limiter = RateLimiter(None, 1, Counter(), scheduled=FakeCaller())
        task = asyncio.ensure_future(subject.answer(body, None, limiter))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        refusal = subject.answer(body, None, limiter)
        assert isinstance(refusal, tuple)
        assert refusal[0] == 429
        node.release()
        await completions.wait_until_idle()
        again = subject.answer(body, None, limiter)
        node.release()
        assert isinstance(again, Awaitable)
        assert (await again)[0] == 200

    subject, body = dispatcher(node), orjson.dumps(call("slow"))
    asyncio.run(scenario())


def test_large_response_is_charged_by_its_bytes(node: FakeNode) -> None:
    subject, (limiter, refusals) = dispatcher(node), budgeted()
    large, small = (orjson.dumps(call("large", size)) for size in (5_000_000, 10))
    assert subject.answer(large, None, limiter)[0] == 200  # type: ignore[index]
    # 5 MB take 15 ms.
    status, answer, _ = subject.answer(small, None, limiter)  # type: ignore[misc]
    assert (status, refusals) == (429, {"cpu": 1})
    assert orjson.loads(answer)["error"]["data"]["retryAfterMs"] > 10_000


async def test_a_python_method_that_ends_cancelled_fails_its_own_call(node: FakeNode) -> None:
    registry = Registry()

    @registry.method("demo_cancelled")
    async def cancelled_inside() -> None:
        raise asyncio.CancelledError

    subject = dispatcher(node, registry=registry)
    subject.router.completions.attach(asyncio.get_running_loop())
    reply = subject.answer(orjson.dumps([call("demo_cancelled"), call("echo", 1, ident=2)]))
    assert not isinstance(reply, tuple)
    answers = orjson.loads(bytes((await reply)[1]))
    assert (error_of(answers[0])[1], answers[1]["result"]) == (-32603, [1])
    assert len(subject.router.completions) == 0
    subject.router.completions.detach()


async def test_a_number_that_python_cannot_read_fails_its_own_call(node: FakeNode) -> None:
    registry = Registry()
    registry.method("demo_number")(lambda number: number)
    subject = dispatcher(node, registry=registry)
    reply = subject.answer(b'{"jsonrpc":"2.0","id":1,"method":"demo_number","params":[1e999]}')
    assert isinstance(reply, tuple)
    assert error_of(orjson.loads(bytes(reply[1])))[1] == -32602
