"""A node without answers is called rarely, and callers fail at once in the meantime."""

from collections.abc import Callable
from typing import Any

import pytest

from foreseal.client.errors import ConnectionLost, TimedOut
from foreseal.errors import RpcError
from foreseal.payments.api.errors import to_api_error
from foreseal.payments.chain import (
    BreakerSettings,
    BreakerState,
    CircuitBreaker,
    CircuitOpen,
    FailureKind,
    GuardedClient,
    NodeUnavailable,
    NoResponse,
    RpcNode,
)


class Node:
    """A client with a test's answer, and a clock."""

    def __init__(self) -> None:
        self.now = 100.0
        self.calls = 0
        self.answer: Callable[[], Any] = lambda: "0x1"
        self.breaker = CircuitBreaker(BreakerSettings(3, 2.0), lambda: self.now)
        self.client = GuardedClient(self, self.breaker)

    def request(self, method: str, *params: Any) -> Any:
        self.calls += 1
        return self.answer()

    def batch(self, requests: Any, *, return_errors: bool = False) -> list[Any]:
        self.calls += 1
        return [self.answer() for _ in requests]

    def fail(self, error: Exception) -> None:
        def raise_it() -> Any:
            raise error

        self.answer = raise_it

    def attempt(self) -> type[Exception] | None:
        """Call the node. Return the type of its error."""
        try:
            self.client.request("eth_chainId")
        except Exception as error:
            return type(error)
        return None


def test_breaker_opens_after_consecutive_failures_and_fails_fast() -> None:
    node = Node()
    node.fail(TimedOut("no response within 3 s"))
    assert [node.attempt() for _ in range(2)] == [TimedOut, TimedOut]
    assert node.breaker.state is BreakerState.CLOSED
    assert node.attempt() is TimedOut
    assert (node.breaker.state, node.breaker.openings) == (BreakerState.OPEN, 1)
    assert [node.attempt() for _ in range(5)] == [CircuitOpen] * 5
    assert node.calls == 3
    assert node.breaker.failures() == {
        FailureKind.TIMEOUT: 3,
        FailureKind.CONNECTION: 0,
        FailureKind.NOT_SENT: 5,
    }


def test_one_call_tests_an_open_breaker() -> None:
    node = Node()
    node.fail(ConnectionLost("refused"))
    for _ in range(3):
        node.attempt()
    node.now += 2.0
    assert node.breaker.state is BreakerState.HALF_OPEN
    others: list[type[Exception] | None] = []

    def test_call() -> Any:
        others.append(node.attempt())  # another caller during the call that tests the node
        raise ConnectionLost("refused")

    node.answer = test_call
    assert node.attempt() is ConnectionLost
    assert others == [CircuitOpen]
    assert node.breaker.state is BreakerState.OPEN
    node.now += 2.0
    node.answer = lambda: "0x1"
    assert node.attempt() is None
    assert (node.breaker.state, node.breaker.openings) == (BreakerState.CLOSED, 1)
    assert node.attempt() is None


@pytest.mark.parametrize("error", [RpcError(-32000, "insufficient funds"), ValueError("a defect")])
def test_any_answer_resets_the_failures(error: Exception) -> None:
    node = Node()
    for _ in range(3):
        node.fail(TimedOut("late"))
        assert [node.attempt(), node.attempt()] == [TimedOut, TimedOut]
        node.fail(error)
        assert node.attempt() is type(error)
    assert node.breaker.state is BreakerState.CLOSED


def test_interrupted_call_proves_nothing_and_the_next_one_tests_the_node() -> None:
    node = Node()
    node.fail(ConnectionLost("refused"))
    for _ in range(3):
        node.attempt()
    node.now += 2.0

    def interrupt() -> Any:
        raise KeyboardInterrupt

    node.answer = interrupt
    with pytest.raises(KeyboardInterrupt):
        node.attempt()
    assert node.breaker.state is BreakerState.HALF_OPEN
    node.answer = lambda: "0x1"
    assert node.attempt() is None
    assert node.breaker.state is BreakerState.CLOSED


def test_late_answer_of_an_earlier_call_does_not_close_an_open_breaker() -> None:
    node = Node()

    def slow() -> Any:
        node.fail(TimedOut("late"))
        for _ in range(3):
            node.attempt()
        return "0x1"

    node.answer = slow
    assert node.attempt() is None
    assert node.breaker.state is BreakerState.OPEN


def test_open_breaker_becomes_503_with_retry_after() -> None:
    node = Node()
    rpc = RpcNode(node.client)
    node.fail(TimedOut("no response within 3 s"))
    for _ in range(3):
        with pytest.raises(NoResponse) as lost:
            rpc.chain_id()
        error = to_api_error(lost.value)
        assert (error.status, error.code, error.headers["Retry-After"]) == (503, "node_unreachable", "1")
    node.now += 0.5
    with pytest.raises(NodeUnavailable) as unavailable:
        rpc.chain_id()
    error = to_api_error(unavailable.value)
    assert (error.status, error.code, error.headers["Retry-After"]) == (503, "node_unreachable", "2")
    assert "no response within 3 s" in error.message
