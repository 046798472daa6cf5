"""The fast path of a call, against the general one: the same bytes, or none at all."""

import asyncio
import re
import time
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from foreseal._core import Answered, Entrance, Node, method_names
from foreseal.rpc import Dispatcher, Limits, Registry
from foreseal.rpc.dispatch import HttpReply
from live_node import ALICE, wait_until
from live_node import settings as node_settings

LIMITS = Limits(depth=8, batch=5, response=20_000)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


class Ways:
    """Both paths to the same idle node."""

    def __init__(self, node: Node, registry: Registry | None = None, **more: Any) -> None:
        self.dispatcher = Dispatcher(node, LIMITS, registry or Registry(), **more)

    def short(self, body: bytes) -> bytes | None:
        """Return the response of the fast path; None if it does not answer."""
        found = self.dispatcher.respond(body)
        return found if isinstance(found, bytes) else None

    def general(self, body: bytes) -> bytes:
        """Return the response without the fast path."""
        respond, self.dispatcher._respond = self.dispatcher._respond, lambda *_: None
        try:
            return asyncio.run(self._answered(body))
        finally:
            self.dispatcher._respond = respond

    async def _answered(self, body: bytes) -> bytes:
        self.dispatcher.router.completions.attach(asyncio.get_running_loop())
        try:
            reply: Any = self.dispatcher.answer(body)
            settled: HttpReply = reply if isinstance(reply, tuple) else await reply
            return settled[1]
        finally:
            self.dispatcher.router.completions.detach()


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
    return node.entrance(response=20_000, depth=8, batch=5, values=1000, parsed=1000, quick=quick)


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
def test_the_fast_path_returns_the_same_response(ways: Ways, request_: Any) -> None:
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
    """Return the response of the fast path, after retries, because a busy machine may be too slow for it."""
    for _ in range(10_000):
        answer = ways.short(body)
        if answer is not None:
            return answer
    raise AssertionError("it was too long each time")


def test_slow_methods_skip_the_fast_path_for_a_while(still: Node) -> None:
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
def test_fast_and_slow_path_return_the_same_error(ways: Ways, request_: Any) -> None:
    body = orjson.dumps(request_)
    answer = eventually(ways, body)
    assert b'"error"' in answer
    assert answer == ways.general(body)
    frames = eventually_in_frames(ways, body)
    assert frames == frames_of([answer])


def eventually_in_frames(ways: Ways, body: bytes) -> bytes:
    """Return the response frame of the fast path, after retries like `eventually`."""
    stream = masked(body)
    for _ in range(10_000):
        found = ways.dispatcher.respond_to_frames(stream, 100_000)
        if found is not None:
            assert found[1] == len(stream)
            return found[0]
    raise AssertionError("it was too long each time")


class CountingCore:
    """A node that counts the calls that the dispatcher makes into it."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.messages = self.executions = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.node, name)

    def entrance(self, **limits: Any) -> Any:
        entrance, counting = self.node.entrance(**limits), self

        class Counting:
            def respond(self, *given: Any) -> Any:
                counting.messages += 1
                return entrance.respond(*given)

            def parse(self, body: bytes) -> Any:
                counting.messages += 1
                return entrance.parse(body)

            def __getattr__(self, name: str) -> Any:
                return getattr(entrance, name)

        return Counting()

    def view(self) -> "CountingCore":
        return self

    def call(self, *given: Any) -> Any:
        self.executions += 1
        return self.node.call(*given)


@pytest.mark.parametrize("request_", FAILING)
def test_a_failing_request_runs_once(still: Node, request_: Any) -> None:
    body = orjson.dumps(request_)
    eventually(Ways(still), body)
    for _ in range(100):
        core = CountingCore(still)
        ways = Ways(core)  # type: ignore[arg-type]
        asyncio.run(ways._answered(body))
        if not core.executions:
            break
    # One message is one call into the core, and nothing ran on the slow path.
    assert (core.messages, core.executions) == (1, 0)
    requests = request_ if isinstance(request_, list) else [request_]
    failed = ways.dispatcher.call_metrics.failed
    answered = ways.dispatcher.call_metrics.answered
    assert failed.total() + sum(answered.values()) == len(requests)
    assert failed == CountedFailures(still, body).failed


class CountedFailures:
    """Failures that the slow path counts for a body."""

    def __init__(self, node: Node, body: bytes) -> None:
        ways = Ways(node)
        ways.general(body)
        self.failed = ways.dispatcher.call_metrics.failed


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
        call("eth_chainId") | {"id": -1},
        {"jsonrpc": "2.0", "method": "eth_chainId"},
        [BALANCE] * 6,
        [BALANCE, HEAVY],
        [],
    ],
)
def test_slow_or_writing_request_takes_the_slow_path(still: Node, body: Any) -> None:
    assert Ways(still).short(orjson.dumps(body)) is None


def test_response_contains_its_head_view_and_length(ways: Ways) -> None:
    body = orjson.dumps(BALANCE)
    plain = ways.short(body)
    whole = ways.dispatcher.respond(b"head" + body, 4, HEAD)
    assert plain is not None
    assert isinstance(whole, bytes)
    lines = rb"x-foreseal-view: \d+\.\d+; age=\d+\r\ncontent-length: %d\r\n\r\n" % len(plain)
    assert re.fullmatch(re.escape(HEAD) + lines + re.escape(plain), whole)


def masked(body: bytes, opcode: Opcode = Opcode.TEXT) -> bytes:
    return Frame(opcode, body).serialize(mask=True)


def frames_of(bodies: list[bytes]) -> bytes:
    return b"".join(Frame(Opcode.TEXT, body).serialize(mask=False) for body in bodies)


def test_websocket_messages_use_the_fast_path_where_possible(ways: Ways) -> None:
    bodies = [orjson.dumps(request) for request in SHORT] + [orjson.dumps(call("eth_chainId", ident="x" * 200))]
    answers = [ways.general(body) for body in bodies]
    stream = b"".join(map(masked, bodies))
    assert ways.dispatcher.respond_to_frames(stream, 1000) == (frames_of(answers), len(stream))
    others = (
        masked(orjson.dumps(call("eth_simulateV1"))),
        masked(b"\xff"),
        masked(b""),
        masked(bodies[0], Opcode.BINARY),
        masked(b"", Opcode.PING),
        masked(b"", Opcode.CLOSE),
        Frame(Opcode.TEXT, bodies[0]).serialize(mask=False),
        Frame(Opcode.TEXT, bodies[0], fin=False).serialize(mask=True),
        masked(bodies[0])[:-1],
        masked(bodies[0] + b" " * 1000),
    )
    for other in others:
        assert ways.dispatcher.respond_to_frames(other, 1000) is None
        mixed = masked(bodies[0]) + other + masked(bodies[1])
        assert ways.dispatcher.respond_to_frames(mixed, 1000) == (frames_of(answers[:1]), len(masked(bodies[0])))


def test_response_frames_are_flushed_at_a_size_limit(ways: Ways) -> None:
    body = orjson.dumps(call("eth_chainId"))
    found = ways.dispatcher.respond_to_frames(masked(body) * 10_000, 1000)
    assert found is not None
    frames, end = found
    one = len(frames_of([ways.general(body)]))
    assert (1 << 16) <= len(frames) < (1 << 16) + one
    assert end == len(frames) // one * len(masked(body))


def test_slow_websocket_messages_are_reported(still: Node) -> None:
    found = entrance(still, 0.0).respond_to_frames(
        masked(orjson.dumps(BALANCE)) + masked(orjson.dumps(call("eth_chainId"))), 1000
    )
    assert found is not None
    assert [name for name, _, _ in found[2]] == ["eth_getBalance", "eth_chainId"]


def test_registered_and_forbidden_methods_skip_the_fast_path(still: Node) -> None:
    registry = Registry()
    ways = Ways(still, registry, forbidden={"eth_chainId": "not here"})
    assert ways.short(orjson.dumps(call("eth_chainId"))) is None
    assert ways.short(orjson.dumps(BALANCE)) is not None
    assert ways.short(orjson.dumps(call("mine"))) is not None
    for name in ("eth_getBalance", "mine"):
        registry.method(name)(lambda *_: "0x1")
        body = orjson.dumps(call(name, ALICE))
        assert ways.short(body) is None
        assert orjson.loads(ways.general(body))["result"] == "0x1"


def test_calls_of_the_fast_path_are_counted(still: Node) -> None:
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
    assert ways.short(orjson.dumps(BALANCE)) is not None
    timing = ways.dispatcher.call_metrics.timings["eth_getBalance"]
    assert (timing.calls, timing.quick) == (1, 0)
    assert 0 < timing.seconds < time.perf_counter() - began


def test_each_slow_call_of_a_batch_is_reported(still: Node) -> None:
    measured = entrance(still, 0.0)
    found = measured.respond(orjson.dumps([BALANCE, call("eth_chainId", ident=2)]))
    assert isinstance(found, Answered)
    results = [orjson.dumps(each["result"]) for each in orjson.loads(found.response)]
    assert [(name, size) for name, _, size in found.slow] == [
        ("eth_getBalance", len(results[0])),
        ("eth_chainId", len(results[1])),
    ]
    assert all(seconds > 0 for _, seconds, _ in found.slow)
    assert measured.drain_calls() == []
    with pytest.raises(ValueError, match="quick"):
        entrance(still, -1.0)


# foreseal_status changes every millisecond.
names = st.sampled_from(sorted({*method_names(), "no_such", "", "eth_gétBalance"} - {"foreseal_status"}))
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
def test_inline_attempts_return_the_same_response_or_none(ways: Ways, request_: Any) -> None:
    body = orjson.dumps(request_)
    answer = ways.short(body)
    if answer is not None:
        assert answer == ways.general(body)


@settings(max_examples=600)
@given(body=bodies, cut=st.none() | st.integers(0, 400), byte=st.binary(max_size=1))
def test_the_fast_path_returns_the_same_response_or_none(ways: Ways, body: bytes, cut: int | None, byte: bytes) -> None:
    if cut is not None:
        body = body[:cut] + byte + body[cut + 1 :]
    answer = ways.short(body)
    if answer is not None:
        assert answer == ways.general(body)
