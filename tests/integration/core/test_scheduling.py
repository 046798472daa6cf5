"""Queues and budgets of a real node: hashing loops of many callers delay neither submissions nor short reads."""

import select
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from foreseal._core import Buckets, Caller, Node
from foreseal.bench.chain_content import accounts, native
from foreseal.errors import RpcError
from live_node import ALICE, outcomes

CONTRACT = "0x00000000000000000000000000000000000000aa"
HASHING = "0x5b6201000060002050600056"
"""JUMPDEST, then KECCAK256 of 64 KiB, in an infinite loop."""
LOOP = orjson.dumps([{"to": CONTRACT, "gas": hex(400_000_000)}, "latest", {CONTRACT: {"code": HASHING}}])
BLOCK = orjson.dumps(["pending", True])
MakeNode = Callable[..., Node]


def made(name: str, dedicated: bool = False, rate: int = 0, burst: int = 1, buckets: Buckets | None = None) -> Caller:
    return Caller(name.encode(), dedicated, buckets or BUCKETS, rate, burst)


BUCKETS = Buckets(None, 1024)


def first_outcome(node: Node) -> dict[int, Any]:
    """Return the outcomes available at the first wake-up."""
    assert select.select([node.event_fd()], [], [], 30)[0]
    done, _ = node.drain()
    return dict(done)


def limits(**changes: int) -> dict[str, int]:
    return {"call_time": 4_000, "log_time": 4_000, **changes}


ENDLESS = limits(call_time=600_000, log_time=600_000)
"""Limits that end no loop during a test."""


def test_hashing_loops_delay_no_submission_and_no_read(make_node: MakeNode) -> None:
    node = make_node(limits=ENDLESS)
    for ticket in range(64):
        assert node.call("eth_call", LOOP, ticket, made(f"hostile {ticket % 32}")) is None
    [account] = accounts(1)
    [transfer] = account.sign(31337, [native(b"\xaa" * 20)])
    honest = made("honest")
    assert node.call("eth_sendRawTransaction", orjson.dumps([transfer.raw]), 100, honest) is None
    assert list(first_outcome(node)) == [100], "before any of the loops"
    assert node.call("eth_getBlockByNumber", BLOCK, 101, honest) is None
    assert list(first_outcome(node)) == [101]
    assert node.health()[0]
    for ticket in range(64):
        node.cancel(ticket)
    ended = outcomes(node, 64)
    assert {outcome.code for outcome in ended.values() if isinstance(outcome, RpcError)} == {-32002}
    assert len(ended) == 64


def test_a_loop_ends_at_the_time_limit(make_node: MakeNode) -> None:
    node = make_node(limits=limits(call_time=500))
    assert node.call("eth_call", LOOP, 1, made("hostile")) is None
    [outcome] = outcomes(node, 1).values()
    assert isinstance(outcome, RpcError)
    assert outcome.code == -32005


def test_fast_call_is_scheduled_between_loops(make_node: MakeNode) -> None:
    node = make_node(limits=ENDLESS, threads=1)
    for ticket in range(8):
        assert node.call("eth_call", LOOP, ticket, made(f"hostile {ticket}")) is None
    short = orjson.dumps([{"to": ALICE}, "latest"])
    assert node.call("eth_call", short, 100, made("honest")) is None
    assert first_outcome(node) == {100: b'"0x"'}
    for ticket in range(8):
        node.cancel(ticket)
    assert len(outcomes(node, 8)) == 8


def test_an_exhausted_budget_ends_a_running_call(make_node: MakeNode) -> None:
    node = make_node(limits=limits(call_time=60_000, log_time=60_000))
    caller = made("hostile", rate=1, burst=20)
    assert node.call("eth_call", LOOP, 1, caller) is None
    [outcome] = outcomes(node, 1).values()
    assert isinstance(outcome, RpcError)
    assert outcome.code == -32005
    assert outcome.data is not None
    data = orjson.loads(outcome.data)
    assert data["limit"] == "cpu"
    assert data["retryAfterMs"] > 0


def test_a_cancelled_call_ends(make_node: MakeNode) -> None:
    node = make_node(limits=limits(call_time=600_000, log_time=600_000))
    assert node.call("eth_call", LOOP, 1, made("hostile")) is None
    node.cancel(1)
    node.cancel(2)
    [outcome] = outcomes(node, 1).values()
    assert isinstance(outcome, RpcError)
    assert outcome.code == -32002


def test_wide_and_narrow_log_searches_use_different_lanes(make_node: MakeNode) -> None:
    node = make_node()

    def jobs() -> dict[str, int]:
        lanes = orjson.loads(node.metrics())["lanes"]
        return {lane: lanes[lane]["queue"]["counts"][-1] for lane in ("read", "heavy")}

    filters = [
        ({"fromBlock": "pending", "toBlock": "pending"}, "read"),
        ({"fromBlock": "0x0", "toBlock": "0x7"}, "read"),
    ]
    filters += [({"fromBlock": "0x0", "toBlock": "0x8"}, "heavy"), ({"fromBlock": "earliest"}, "heavy"), ({}, "read")]
    for ticket, (filter_, lane) in enumerate(filters):
        before = jobs()
        assert node.call("eth_getLogs", orjson.dumps([filter_]), ticket) is None
        outcomes(node, 1)
        assert jobs() == before | {lane: before[lane] + 1}, filter_


def test_processes_share_budgets_by_name() -> None:
    buckets = Buckets(None, 1024)
    first, same, other = (made(name, rate=100, burst=10, buckets=buckets) for name in ("a", "a", "b"))
    assert first.charge(5_000_000, 10_000) == 0
    assert same.charge(5_000_000, 0) == 0
    assert same.charge(5_000_000, 1_000) == 10_000
    assert first.charge(5_000_000, 0) == 10_000
    assert other.charge(5_000_000, 0) == 0
    assert made("a", buckets=buckets).charge(5_000_000, 10**9) == 0, "without a rate there is no limit"


@pytest.mark.parametrize(("rate", "burst"), [(1_000_001, 1), (1, 0), (1, 1 << 62)])
def test_invalid_budget_is_an_error(rate: int, burst: int) -> None:
    with pytest.raises(ValueError, match="a budget cannot have"):
        made("a", rate=rate, burst=burst)
