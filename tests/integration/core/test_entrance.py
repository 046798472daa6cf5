"""The entrance of the core: each body is parsed, charged and executed once, with the results of single calls."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from foreseal._core import Answered, Buckets, Caller, Entrance, Node, method_names
from foreseal.rpc import Dispatcher, Limits, Registry
from foreseal.rpc.core_protocol import EntranceLimits
from foreseal.rpc.dispatch import HttpReply
from foreseal.rpc.rate import Rate
from foreseal.rpc.rate_limiter import CpuBudget, RateLimiter, TokenBucket
from live_node import ALICE, outcomes, wait_until
from live_node import settings as node_settings

LIMITS = Limits(depth=8, batch=5, response=20_000)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


class Ways:
    """Both ways to the methods of the same idle node: its entrance, and one call after the other."""

    def __init__(self, node: Node, registry: Registry | None = None, **more: Any) -> None:
        self.dispatcher = Dispatcher(node, LIMITS, registry or Registry(), **more)
        self._single = Dispatcher(node, LIMITS, registry or Registry(), **more)
        # Python runs each call of the core on its own.
        if self._single.entrance is not None:
            for name in method_names():
                self._single.entrance.exclude(name)

    def short(self, body: bytes) -> bytes | None:
        """Return the response of the entrance; None if it does not answer at once."""
        reply = self.dispatcher.respond(body)
        if isinstance(reply, Answered):
            reply = bytes(reply.response)
        return reply if isinstance(reply, bytes) else None

    def general(self, body: bytes) -> bytes:
        """Return the response made of single calls."""
        return self.response(body, self._single)

    def response(self, body: bytes, dispatcher: Dispatcher | None = None) -> bytes:
        """Return the response, at once or later."""
        return asyncio.run(self._answered(body, dispatcher or self.dispatcher))

    async def _answered(self, body: bytes, dispatcher: Dispatcher) -> bytes:
        dispatcher.router.completions.attach(asyncio.get_running_loop())
        try:
            reply: Any = dispatcher.answer(body)
            settled: HttpReply = reply if isinstance(reply, tuple) else await reply
            return bytes(settled[1])
        finally:
            dispatcher.router.completions.detach()


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    node = Node(node_settings(tmp_path_factory.mktemp("still") / "data", produce=False))
    node.start()
    wait_until(lambda: node.ready()[0])
    yield node
    node.stop()


@pytest.fixture(scope="module")
def ways(still: Node) -> Ways:
    return Ways(still)


def entrance(node: Node, quick: float) -> Entrance:
    """Return an entrance that counts calls of at most `quick` seconds."""
    limits = EntranceLimits(response=20_000, values=1000, depth=8, batch=5, parsed=1000, quick=quick, calls=100)
    return node.entrance(limits)


def call(method: str, *params: Any, ident: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}


BALANCE = call("eth_getBalance", ALICE, "latest")


def running(code: str) -> dict[str, Any]:
    """Return a call of an account that has `code`."""
    return call("eth_call", {"to": ALICE, "gas": "0xfffff"}, "latest", {ALICE: {"code": code}})


# They return their input, revert, use a megabyte of memory, call modexp, count down from 65,535.
ECHO, REVERT, LARGE, MODEXP, COUNT = (
    "0x365f5f37365ff3",
    "0x60205ffd",
    "0x5f620f424052",
    "0x5f5f5f5f60055afa",
    "0x61ffff5b600190038060035700",
)
LIGHT, HEAVY = running(ECHO), running(LARGE)
SHORT = [
    call("eth_chainId", ident="a b"),
    call("eth_blockNumber", ident=None),
    BALANCE,
    call("eth_getTransactionCount", ALICE, "pending"),
    call("eth_getStorageAt", ALICE, "0x0", {"blockNumber": "0x0"}),
    call("eth_getCode", ALICE, "safe"),
    call("eth_gasPrice"),
    [BALANCE, call("eth_chainId", ident=2)],
]


@pytest.mark.parametrize("request_", SHORT)
def test_answers_at_once_are_those_of_single_calls(ways: Ways, request_: Any) -> None:
    for body in (orjson.dumps(request_), orjson.dumps(request_, option=orjson.OPT_INDENT_2)):
        answer = ways.short(body)
        assert answer is not None
        assert answer == ways.general(body)


@pytest.mark.parametrize(
    "request_",
    [
        LIGHT,
        call("eth_call", {"to": ALICE, "data": "0x1234"}, {"blockNumber": "0x0"}, {ALICE: {"code": ECHO}}),
        call("eth_estimateGas", {"from": ALICE, "to": ALICE, "value": "0x1"}),
        call("eth_getBlockByNumber", "latest", True),
        call("eth_getBlockByNumber", "0x0", False),
        call("eth_getBlockByNumber", "0x7", False),
        call("eth_getBlockReceipts", "earliest"),
        call("eth_getBlockTransactionCountByNumber", "pending"),
        call("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest"}),
        [BALANCE, LIGHT, call("eth_blockNumber")],
    ],
)
def test_long_calls_attempted_inline_return_the_same_response(ways: Ways, request_: Any) -> None:
    body = orjson.dumps(request_)
    assert eventually(ways, body) == ways.general(body)


def eventually(ways: Ways, body: bytes) -> bytes:
    """Return the response of the entrance, after retries, because a busy machine may be too slow for it."""
    for _ in range(10_000):
        answer = ways.short(body)
        if answer is not None:
            return answer
    raise AssertionError("it was too long each time")


def test_slow_methods_run_on_worker_threads_for_a_while(still: Node) -> None:
    ways = Ways(still)
    light, heavy = orjson.dumps(LIGHT), orjson.dumps(HEAVY)
    estimate = orjson.dumps(call("eth_estimateGas", {"from": ALICE, "to": ALICE}))
    eventually(ways, light)
    for passed in (1, 2, 4):
        assert ways.short(heavy) is None
        assert [ways.short(light) for _ in range(passed)] == [None] * passed
    eventually(ways, estimate)
    for _ in range(200):
        assert ways.short(heavy) is None
    eventually(ways, light)
    assert ways.short(heavy) is None
    assert ways.short(light) is None
    eventually(ways, light)


FAILING = [
    running(REVERT),
    running("0xfe"),
    call("eth_getLogs", {"fromBlock": "0x7", "toBlock": "0x9"}),
    call("eth_estimateGas", {"from": ALICE, "to": ALICE, "value": "0xffffffffffffffffffff"}),
    call("eth_getBalance", "0x12", "latest"),
    call("eth_getBalance", ALICE, "latest", "more"),
    call("eth_getBalance", ALICE, "0x1000"),
    call("eth_getStorageAt"),
    call("eth_getBlockByNumber", "latest"),
    call("no_such", {"a": [1.5, "b"]}),
    call("no \x7f such" * 99),
    [BALANCE, call("no_such"), running(REVERT), call("eth_getBalance")],
]


@pytest.mark.parametrize("request_", FAILING)
def test_errors_at_once_are_those_of_single_calls(ways: Ways, request_: Any) -> None:
    body = orjson.dumps(request_)
    answer = eventually(ways, body)
    assert b'"error"' in answer
    assert answer == ways.general(body)
    frames = eventually_in_frames(ways, body)
    assert frames == frames_of([answer])


def eventually_in_frames(ways: Ways, body: bytes) -> bytes:
    """Return the response frame of the entrance, after retries like `eventually`."""
    stream = masked(body)
    for _ in range(10_000):
        reply = ways.dispatcher.respond_to_frames(stream, 100_000)
        assert reply is not None
        assert reply[1] == len(stream)
        if reply[2] is None:
            return reply[0]
    raise AssertionError("it was too long each time")


class CountingCore:
    """A node that counts the bodies that enter it, and the calls that Python runs."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.bodies = self.single_calls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.node, name)

    def entrance(self, limits: EntranceLimits) -> Any:
        entrance, counting = self.node.entrance(limits), self

        class Counting:
            def respond(self, *given: Any) -> Any:
                counting.bodies += 1
                return entrance.respond(*given)

            def __getattr__(self, name: str) -> Any:
                return getattr(entrance, name)

        return Counting()

    def call(self, *given: Any) -> Any:
        self.single_calls += 1
        return self.node.call(*given)


@pytest.mark.parametrize("request_", [*FAILING, *SHORT, HEAVY, [BALANCE, HEAVY], [HEAVY] * 5])
def test_each_body_enters_once_and_each_call_is_counted_once(still: Node, request_: Any) -> None:
    core = CountingCore(still)
    ways = Ways(cast(Node, core))
    ways.response(orjson.dumps(request_))
    assert (core.bodies, core.single_calls) == (1, 0)
    metrics = ways.dispatcher.call_metrics
    requests = request_ if isinstance(request_, list) else [request_]
    assert metrics.failed.total() + sum(metrics.answered.values()) == len(requests)
    single = Ways(still)
    single.general(orjson.dumps(request_))
    assert metrics.failed == single._single.call_metrics.failed


@pytest.mark.parametrize(
    "body",
    [
        HEAVY,
        running(MODEXP),
        running(ECHO + "00" * 10_000),
        call("eth_call", {"to": ALICE}, {"blockNumber": "0x0", "flashblockIndex": "0x0"}),
        call("eth_getBlockByNumber", {"blockNumber": "0x0", "flashblockIndex": "0x0"}, False),
        call("eth_subscribe", "newHeads"),
        call("eth_newBlockFilter"),
        call("eth_accounts"),
        call("anvil_impersonateAccount", ALICE),
        call("rpc_modules"),
        [BALANCE, HEAVY],
    ],
)
def test_slow_or_writing_request_is_not_answered_at_once(still: Node, body: Any) -> None:
    ways, is_random = Ways(still), b"eth_newBlockFilter" in orjson.dumps(body)
    assert ways.short(orjson.dumps(body)) is None
    if not is_random:
        assert ways.response(orjson.dumps(body)) == ways.general(orjson.dumps(body))


def test_response_contains_its_head_view_and_length(ways: Ways) -> None:
    body = orjson.dumps(BALANCE)
    plain = ways.short(body)
    whole = ways.dispatcher.respond(b"head" + body, 4, HEAD)
    assert plain is not None
    assert isinstance(whole, bytes)
    lines = rb"x-foreseal-view: \d+\.\d+; age=\d+\r\ncontent-length: %d\r\n\r\n" % len(plain)
    assert re.fullmatch(re.escape(HEAD) + lines + re.escape(plain), whole)


def limited(tokens: int, cpu: int = 0) -> RateLimiter:
    """Return the limits of a caller with `tokens`, of which none comes back, and `cpu` ms of processor time."""
    buckets, name, rate = Buckets(None, 8), b"caller", Rate(1, 3600)
    clock = time.monotonic_ns
    scheduled = Caller(name, False, buckets, 1 if cpu else 0, cpu or 1, (rate.interval, tokens))
    bucket = TokenBucket(buckets, name, rate, tokens, lambda: clock() // 1000)
    budget = CpuBudget(scheduled, lambda: clock() // 1000, 1, cpu) if cpu else None
    return RateLimiter(bucket, None, Counter(), scheduled=scheduled, cpu=budget)


def statuses(ways: Ways, bodies: list[bytes], limiter: RateLimiter) -> list[int]:
    """Return the status of each response to the caller."""

    async def run() -> list[int]:
        codes = []
        ways.dispatcher.router.completions.attach(asyncio.get_running_loop())
        for body in bodies:
            reply: Any = ways.dispatcher.answer(body, None, limiter)
            codes.append((reply if isinstance(reply, tuple) else await reply)[0])
        ways.dispatcher.router.completions.detach()
        return codes

    return asyncio.run(run())


def test_limited_callers_are_answered_until_their_tokens_end(still: Node) -> None:
    core = CountingCore(still)
    ways = Ways(cast(Node, core))
    body = orjson.dumps(BALANCE)
    limiter = limited(8)
    assert statuses(ways, [body] * 10, limiter) == [200] * 8 + [429] * 2
    assert (core.bodies, core.single_calls) == (10, 0)
    assert limiter._refusals == {"rate": 2}


def test_limited_batches_cost_the_sum_of_their_calls(still: Node) -> None:
    core = CountingCore(still)
    ways, limiter = Ways(cast(Node, core)), limited(7)
    batch = orjson.dumps([BALANCE, call("eth_chainId", ident=2), BALANCE])
    assert statuses(ways, [batch], limiter) == [200]
    assert statuses(ways, [batch], limiter) == [200]
    # One token is left: the first call of the batch is executed, the others are rejected one by one.
    reply = ways.dispatcher.answer(batch, None, limiter)
    assert isinstance(reply, tuple)
    assert [entry.get("error", {}).get("code") for entry in orjson.loads(bytes(reply[1]))] == [None, -32005, -32005]
    assert limiter._refusals == {"rate": 2}
    assert statuses(ways, [batch], limiter) == [429], "a batch without any token is rejected as a whole"


def test_websocket_messages_of_limited_callers_are_charged(ways: Ways) -> None:
    body, limiter = orjson.dumps(call("eth_chainId")), limited(3)
    answer = ways.general(body)
    immediate_reply = ways.dispatcher.respond_to_frames(masked(body) * 5, 1000, limiter)
    assert immediate_reply is not None
    frames, end, pending = immediate_reply
    assert (frames, end) == (frames_of([answer] * 3), len(masked(body)) * 4)
    assert pending is not None
    reply = ways.dispatcher.answer_entered(pending, None, limiter)
    assert isinstance(reply, tuple)
    assert reply[0] == 429


def test_a_caller_that_is_created_again_has_its_running_calls(still: Node) -> None:
    endless = orjson.dumps(call("eth_call", {"to": ALICE, "gas": "0xfffffff"}, "latest", {ALICE: {"code": "0x5b5f56"}}))
    buckets, ticket = Buckets(None, 8), 1 << 40
    first, other = (Caller(name, False, buckets, 0, 1) for name in (b"first", b"other"))
    assert still.call("eth_call", orjson.dumps(orjson.loads(endless)["params"]), ticket, first) is None
    assert (first.running, other.running, still.running) == (1, 0, 1)
    del first
    again = Caller(b"first", False, buckets, 0, 1)
    assert again.running == 1
    still.cancel(ticket)
    wait_until(lambda: again.running == 0)
    assert list(outcomes(still, 1)) == [ticket]


def test_a_malformed_body_is_charged_once(still: Node) -> None:
    ways = Ways(still)
    single = orjson.dumps(BALANCE).replace(b'"latest"', b"nope")
    twice = b'{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x","to":"0x"}]}'
    large = orjson.dumps(BALANCE) + b" " * 40_000
    for body in (single, twice, large):
        limiter = limited(2)
        assert statuses(ways, [body] * 2, limiter) == [200] * 2, body[:80]
        assert statuses(ways, [body], limiter) == [429]


def test_processor_time_of_responses_is_charged(ways: Ways) -> None:
    body, limiter = orjson.dumps(BALANCE), limited(10_000, cpu=1)
    assert any(statuses(ways, [body], limiter) == [429] for _ in range(10_000))
    assert limiter._refusals["cpu"] == 1
    assert limiter._refusals["rate"] == 0


def masked(body: bytes, opcode: Opcode = Opcode.TEXT) -> bytes:
    return Frame(opcode, body).serialize(mask=True)


def frames_of(bodies: list[bytes]) -> bytes:
    return b"".join(Frame(Opcode.TEXT, body).serialize(mask=False) for body in bodies)


def test_websocket_messages_are_answered_at_once_where_possible(ways: Ways) -> None:
    bodies = [orjson.dumps(request) for request in SHORT] + [orjson.dumps(call("eth_chainId", ident="x" * 200))]
    answers = [ways.general(body) for body in bodies]
    stream = b"".join(map(masked, bodies))
    assert ways.dispatcher.respond_to_frames(stream, 1000) == (frames_of(answers), len(stream), None)
    others = (
        masked(bodies[0], Opcode.BINARY),
        masked(b"", Opcode.PING),
        masked(b"", Opcode.CLOSE),
        Frame(Opcode.TEXT, bodies[0]).serialize(mask=False),
        Frame(Opcode.TEXT, bodies[0], fin=False).serialize(mask=True),
        masked(bodies[0] + b" " * 1000),
    )
    first = masked(bodies[0])
    assert ways.dispatcher.respond_to_frames(first[:-1], 1000) is None
    for other in others:
        assert ways.dispatcher.respond_to_frames(other, 1000) is None
        mixed = first + other + masked(bodies[1])
        assert ways.dispatcher.respond_to_frames(mixed, 1000) == (frames_of(answers[:1]), len(first), None)
    long = masked(orjson.dumps(call("eth_simulateV1")))
    reply = ways.dispatcher.respond_to_frames(first + long + first, 1000)
    assert reply is not None
    assert reply[:2] == (frames_of(answers[:1]), len(first + long))
    assert reply[2] is not None
    reply = ways.dispatcher.respond_to_frames(masked(b"") + first, 1000)
    assert reply == (frames_of([ways.general(b""), answers[0]]), len(masked(b"") + first), None)
    assert ways.dispatcher.respond_to_frames(masked(b"\xff") + first, 1000) is None


def test_response_frames_are_flushed_at_a_size_limit(ways: Ways) -> None:
    body = orjson.dumps(call("eth_chainId"))
    reply = ways.dispatcher.respond_to_frames(masked(body) * 10_000, 1000)
    assert reply is not None
    frames, end, _ = reply
    one = len(frames_of([ways.general(body)]))
    assert (1 << 16) <= len(frames) < (1 << 16) + one
    assert end == len(frames) // one * len(masked(body))


def test_slow_websocket_messages_are_reported(still: Node) -> None:
    reply = entrance(still, 0.0).respond_to_frames(
        masked(orjson.dumps(BALANCE)) + masked(orjson.dumps(call("eth_chainId"))), 1000
    )
    assert reply is not None
    assert [name for name, *_ in reply[2]] == ["eth_getBalance", "eth_chainId"]


def test_python_owns_registered_and_forbidden_methods(still: Node) -> None:
    registry = Registry()
    ways = Ways(still, registry, forbidden={"eth_chainId": "not here"})
    assert ways.short(orjson.dumps(call("eth_chainId"))) is None
    assert ways.short(orjson.dumps(BALANCE)) is not None
    assert ways.short(orjson.dumps(call("mine"))) is not None
    for name in ("eth_getBalance", "mine"):
        registry.method(name)(lambda *_: "0x1")
        body = orjson.dumps(call(name, ALICE))
        assert ways.short(body) is None
        assert orjson.loads(ways.response(body))["result"] == "0x1"


def test_quick_calls_are_counted(still: Node) -> None:
    ways = Ways(still)
    began = time.perf_counter()
    for request in (BALANCE, [BALANCE, call("eth_chainId")], call("eth_chainId")):
        assert ways.short(orjson.dumps(request)) is not None
    counts = ways.dispatcher.call_metrics
    assert counts.answered == {"eth_getBalance": 2, "eth_chainId": 2}
    assert counts.answered == {"eth_getBalance": 2, "eth_chainId": 2}, "reading takes nothing away"
    elapsed = time.perf_counter() - began
    assert all(0 < timing.seconds < elapsed for timing in counts.timings.values())


def test_a_slow_call_is_reported_with_its_duration(still: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    ways = Ways(still)
    monkeypatch.setattr(ways.dispatcher, "_respond", entrance(still, 0.0).respond)
    began = time.perf_counter()
    assert ways.response(orjson.dumps(BALANCE))
    timing = ways.dispatcher.call_metrics.timings["eth_getBalance"]
    assert (timing.calls, timing.quick) == (1, 0)
    assert 0 < timing.seconds < time.perf_counter() - began


def test_each_slow_call_of_a_batch_is_reported(still: Node) -> None:
    measured = entrance(still, 0.0)
    reply = measured.respond(orjson.dumps([BALANCE, call("eth_chainId", ident=2)]))
    assert isinstance(reply, Answered)
    results = [orjson.dumps(each["result"]) for each in orjson.loads(bytes(reply.response))]
    assert [(name, size, calls) for name, _, size, calls in reply.slow] == [
        ("eth_getBalance", len(results[0]), 1),
        ("eth_chainId", len(results[1]), 1),
    ]
    assert all(seconds > 0 for _, seconds, *_ in reply.slow)
    assert measured.drain_calls() == []
    with pytest.raises(ValueError, match="quick"):
        entrance(still, -1.0)


# The status changes every millisecond, and filters have random ids.
VARYING = {"foreseal_status", "eth_newFilter", "eth_newBlockFilter", "eth_newPendingTransactionFilter"}
names = st.sampled_from(sorted({*method_names(), "no_such", "", "eth_gétBalance"} - VARYING))
words = st.sampled_from([ALICE, "latest", "pending", "0x0", "0x", "0x01", "earliest", "é", "\\", '"', "a\nb", "]}", ""])
values = st.recursive(
    words | st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["blockNumber", "blockHash", "to", "a"]), inner, max_size=3)
    ),
    max_leaves=12,
)
calls = st.fixed_dictionaries(
    {"jsonrpc": st.sampled_from(["2.0"] * 9 + ["1.0", 2])},
    optional={
        "id": st.integers(-5, 5) | words | st.none() | st.floats(allow_nan=False) | values,
        "method": names | values,
        "params": st.lists(values, max_size=4) | st.just([ALICE, "latest"]) | values,
        "more": values,
    },
)
bodies = st.builds(
    lambda request, indent: orjson.dumps(request, option=orjson.OPT_INDENT_2 if indent else None),
    calls | st.lists(calls, max_size=7),
    st.booleans(),
)


blocks = st.sampled_from(
    ["latest", "pending", "earliest", "safe", "0x0", "0x1", {"blockNumber": "0x0"}, {"blockHash": "0x" + "11" * 32}]
)
programs = st.sampled_from([ECHO, REVERT, LARGE, MODEXP, COUNT, "0x5b5f56", "0xfe", "0x5a5f5260205ff3"])
requests = st.fixed_dictionaries(
    {"to": st.sampled_from([ALICE, "0x" + "00" * 19 + "02", "0x" + "77" * 20])},
    optional={
        "from": st.just(ALICE),
        "gas": st.sampled_from(["0x5208", "0xffff", "0xfffff"]),
        "value": st.sampled_from(["0x0", "0x1", "0xffffffffffffffffffff"]),
        "data": st.sampled_from(["0x", "0x12", "0x" + "ab" * 5000]),
    },
)
executed = st.builds(
    lambda method, request, block, code: call(method, request, block, {request["to"]: {"code": code}} if code else {}),
    st.sampled_from(["eth_call", "eth_estimateGas"]),
    requests,
    blocks,
    st.none() | programs,
)
asked = st.one_of(
    executed,
    st.builds(lambda block, full: call("eth_getBlockByNumber", block, full), blocks, st.booleans()),
    st.builds(lambda block: call("eth_getBlockReceipts", block), blocks),
    st.builds(
        lambda first, last: call("eth_getLogs", {"fromBlock": first, "toBlock": last}),
        st.sampled_from(["0x0", "0x1", "latest", "pending"]),
        st.sampled_from(["0x0", "0x9", "latest", "pending"]),
    ),
    st.just(BALANCE),
)


@settings(max_examples=300, deadline=None)
@given(request_=asked | st.lists(asked, min_size=1, max_size=5))
def test_attempts_return_the_response_of_single_calls_or_none(ways: Ways, request_: Any) -> None:
    body = orjson.dumps(request_)
    answer = ways.short(body)
    if answer is not None:
        assert answer == ways.general(body)


@settings(max_examples=600)
@given(body=bodies, cut=st.none() | st.integers(0, 400), byte=st.binary(max_size=1))
def test_any_body_has_the_response_of_single_calls(ways: Ways, body: bytes, cut: int | None, byte: bytes) -> None:
    if cut is not None:
        body = body[:cut] + byte + body[cut + 1 :]
    assert ways.response(body) == ways.general(body)
