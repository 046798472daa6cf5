"""Calls of strangers' code: gas, time, slots of all and of each party, and no fault of the node."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pytest
from eth_abi.abi import encode

from foreseal.client import Options
from foreseal.client.errors import ConnectionLost, TimedOut
from foreseal.errors import RpcError
from foreseal.payments.api.errors import to_api_error
from foreseal.payments.chain import (
    BreakerSettings,
    BreakerState,
    CircuitBreaker,
    CodeTimeout,
    NodeUnavailable,
    NoResponse,
    Reverted,
    RpcNode,
    StrangerCalls,
    TooManyCalls,
    node_requests,
    stranger_options,
)
from foreseal.payments.chain.stranger_calls import MAX_CALLS, MAX_PARTY_CALLS, MAX_WAIT, MAX_WAITING, PAUSE

WALLET, OTHER, TARGET = "0x" + "11" * 20, "0x" + "22" * 20, "0x" + "33" * 20
GAS = 3_000_000


class Clock:
    """A clock that time passes on only while a call waits, or when a test sets it."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Elapsing(threading.Condition):
    """A condition whose wait lets its whole timeout pass at once."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock
        self.during: Callable[[], None] = lambda: None
        """Called while a call waits."""

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.clock.now += timeout
        self.during()
        return False


class Node:
    """A client with a test's answer, behind the limits."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.waiting = Elapsing(self.clock)
        self.sent: list[tuple[str, tuple[Any, ...]]] = []
        self.answer: Callable[[], Any] = lambda: "0x"
        self.breaker = CircuitBreaker(BreakerSettings(2, 3.0), self.clock)
        self.calls = StrangerCalls(self, self.breaker, GAS, self.clock, self.waiting)

    def request(self, method: str, *params: Any) -> Any:
        self.sent.append((method, params))
        return self.answer()

    def batch(self, requests: Sequence[Any], *, return_errors: bool = False) -> list[Any]:
        assert return_errors
        self.sent += [(each.method, each.params) for each in requests]
        return [self.answer() for _ in requests]

    def call(self, party: str = WALLET) -> bytes:
        return self.calls.node(party).call(TARGET, b"\x01", "pending")

    def fail(self, error: Exception) -> None:
        def raise_it() -> Any:
            raise error

        self.answer = raise_it


class CallsInProgress:
    """Calls that stay in progress until the end of the context."""

    def __init__(self, node: Node, parties: Sequence[str]) -> None:
        self._node, self._parties = node, parties
        self._begun, self._released = threading.Semaphore(0), threading.Event()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> None:
        def answer() -> str:
            self._begun.release()
            assert self._released.wait(30)
            return "0x"

        before, self._node.answer = self._node.answer, answer
        for party in self._parties:
            self._threads.append(threading.Thread(target=self._node.call, args=(party,)))
            self._threads[-1].start()
            assert self._begun.acquire(timeout=30)
        self._node.answer = before

    def __exit__(self, *_: object) -> None:
        self._released.set()
        for thread in self._threads:
            thread.join()


def parties(count: int) -> list[str]:
    return [f"0x{number:040x}" for number in range(count)]


def test_client_has_one_attempt_of_a_second() -> None:
    options = stranger_options(Options(key="k", timeout=30.0))
    assert (options.timeout, options.attempts, options.key) == (1.0, 1, "k")


def test_executed_requests_have_a_gas_limit() -> None:
    node = Node()
    reached = node.calls.node(WALLET)
    limited = [
        node_requests.call(TARGET, b"", "pending"),
        node_requests.estimate_gas(WALLET, TARGET, b"", "pending"),
        node_requests.estimate_gas(WALLET, TARGET, b"", "pending", 70_000),
        node_requests.code(TARGET, "pending"),
    ]
    reached.batch(limited)
    assert [params[0]["gas"] for _, params in node.sent[:3]] == [hex(GAS), hex(GAS), hex(70_000)]
    assert node.sent[3] == ("eth_getCode", (TARGET, "pending"))
    node.call()
    assert node.sent[4][1][0]["gas"] == hex(GAS)


def test_timeout_is_a_fact_about_the_party_and_pauses_it() -> None:
    node = Node()
    node.fail(TimedOut("no response within 1 s"))
    for party in parties(5):
        with pytest.raises(CodeTimeout, match=f"the code of {party} did not end within 1 s"):
            node.call(party)
    assert (node.breaker.state, node.breaker.openings) == (BreakerState.CLOSED, 0)
    node.answer = lambda: "0x"
    sent = len(node.sent)
    first = parties(1)[0]
    node.clock.now += PAUSE - 1
    with pytest.raises(CodeTimeout, match=r"it is called again in 1\.0 s"):
        node.call(first)
    assert len(node.sent) == sent
    node.call(OTHER)
    node.clock.now += 1
    node.call(first)


def test_timeout_of_a_batch_is_the_answer_of_each_request() -> None:
    node = Node()
    node.fail(TimedOut("no response within 1 s"))
    answers = node.calls.node(WALLET).batch([node_requests.code(each, "pending") for each in (WALLET, OTHER)])
    assert [type(each) for each in answers] == [CodeTimeout] * 2


def test_broken_connections_open_the_breaker_of_strangers_alone() -> None:
    node = Node()
    node.fail(ConnectionLost("refused"))
    for party in parties(2):
        with pytest.raises(NoResponse):
            node.call(party)
    assert node.breaker.state is BreakerState.OPEN
    with pytest.raises(NodeUnavailable) as rejected:
        node.call(OTHER)
    assert rejected.value.retry_after == 3.0
    assert len(node.sent) == 2


def test_party_has_a_share_of_the_calls() -> None:
    node = Node()
    with CallsInProgress(node, [WALLET] * MAX_PARTY_CALLS):
        began = node.clock.now
        with pytest.raises(TooManyCalls) as rejected:
            node.call()
        assert node.clock.now == began + MAX_WAIT
        node.call(OTHER)
    error = to_api_error(rejected.value)
    assert (error.status, error.code, error.headers) == (503, "overloaded", {"Retry-After": "1"})
    node.call()


def test_all_parties_share_the_calls() -> None:
    node = Node()
    with CallsInProgress(node, parties(MAX_CALLS)), pytest.raises(TooManyCalls, match="at the same time"):
        node.call(OTHER)
    node.call(OTHER)


def test_call_proceeds_when_another_ends() -> None:
    node = Node()
    held = CallsInProgress(node, [WALLET] * MAX_PARTY_CALLS)

    def end_others() -> None:
        node.waiting.release()
        held.__exit__()
        node.waiting.acquire()

    with held:
        node.waiting.during = end_others
        assert node.call() == b""


def test_waiting_calls_are_limited() -> None:
    node = Node()
    with CallsInProgress(node, [WALLET] * MAX_PARTY_CALLS):
        node.calls._waiting = MAX_WAITING
        began = node.clock.now
        with pytest.raises(TooManyCalls):
            node.call()
        assert node.clock.now == began
        node.calls._waiting = 0


def test_waiting_call_ends_with_the_timeout_of_its_party() -> None:
    node = Node()
    with CallsInProgress(node, [WALLET] * MAX_PARTY_CALLS):
        node.waiting.during = lambda: node.calls._pause(WALLET)
        with pytest.raises(CodeTimeout):
            node.call()


def test_error_of_a_call_frees_its_slot() -> None:
    node = Node()
    node.fail(KeyError("unexpected"))
    for _ in range(MAX_CALLS + 1):
        with pytest.raises(KeyError):
            node.call()
    node.answer = lambda: "0x"
    assert node.call() == b""


def test_node_without_limits_serves_all_parties() -> None:
    node = Node()
    plain = RpcNode(node)
    assert plain.for_party(WALLET) is plain
    plain.for_party(WALLET).call(TARGET, b"", "pending")
    assert "gas" not in node.sent[0][1][0]
    limited = RpcNode(node, node.calls.node)
    limited.for_party(WALLET).call(TARGET, b"", "pending")
    assert node.sent[1][1][0]["gas"] == hex(GAS)


def test_timeout_of_a_wallet_has_its_own_error() -> None:
    error = to_api_error(CodeTimeout("eth_call: the code of 0x did not end"))
    assert (error.status, error.code, error.passing) == (422, "code_timeout", False)


@pytest.mark.parametrize(
    "message",
    [
        "out of gas",
        "gas required exceeds allowance (3000000)",
        "execution halted: InvalidFEOpcode",
        "invalid opcode: INVALID",
        "EVM error InvalidJump",
        "stack underflow (0 <=> 1)",
    ],
)
def test_call_that_needs_more_gas_reverts(message: str) -> None:
    node = Node()
    node.fail(RpcError(-32000, message))
    with pytest.raises(Reverted, match=message[:10]):
        node.call()


def test_reason_of_a_revert_is_short_and_printable() -> None:
    reason = "out\x1b[31m\n" + "x" * 1_000_000
    data = bytes.fromhex("08c379a0") + encode(["string"], [reason])
    for message, shown in (
        ("execution reverted", "out?[31m?" + "x" * 291),
        (reason + "revert", "out?[31m?" + "x" * 291),
    ):
        node = Node()
        node.fail(RpcError(3, message, orjson.dumps("0x" + data.hex()) if message == "execution reverted" else None))
        with pytest.raises(Reverted) as error:
            node.call()
        assert str(error.value).endswith(shown)
        assert len(error.value.data) <= 4_096
