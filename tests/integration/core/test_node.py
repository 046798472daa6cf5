"""foreseal._core.Node: inline calls and the worker pool, pinned views, settings, start and stop."""

import ctypes
import gc
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from foreseal._core import Node, PendingBody
from foreseal.errors import NodeError, RpcError
from live_node import ALICE, DEV_CHAIN, JUNK, outcomes, settings, wait_until

from fake_core import LIMITS

ESTIMATE = orjson.dumps([{"from": ALICE, "to": ALICE, "value": "0x1"}, "pending"])
REVERTS = orjson.dumps([{"from": ALICE, "data": "0x60006000fd"}, "pending"])
MakeNode = Callable[..., Node]


def test_fast_call_is_answered_inline(node: Node) -> None:
    assert node.call("eth_chainId", b"[]", 0) == b'"0x7a69"'
    assert node.call("eth_getBalance", orjson.dumps([ALICE, "latest"]), 0) == orjson.dumps(hex(10**21))
    assert node.drain() == ([], [])


def test_pooled_call_returns_under_its_ticket(node: Node) -> None:
    assert node.call("eth_estimateGas", ESTIMATE, 7) is None
    assert outcomes(node, 1) == {7: b'"0x5208"'}
    assert select.select([node.event_fd()], [], [], 0)[0] == []
    assert node.drain() == ([], [])


def test_every_ticket_completes_once(node: Node) -> None:
    for ticket in range(300):
        assert node.call("eth_estimateGas", REVERTS if ticket % 3 == 0 else ESTIMATE, ticket) is None
    by_ticket = outcomes(node, 300)
    assert sorted(by_ticket) == list(range(300))
    for ticket, outcome in by_ticket.items():
        if ticket % 3:
            assert outcome == b'"0x5208"'
        else:
            assert isinstance(outcome, RpcError)
            assert (outcome.code, outcome.message, outcome.data) == (-32000, "execution reverted", b'"0x"')


def test_errors_are_raised_inline(node: Node) -> None:
    with pytest.raises(RpcError, match=r"^the method no_such does not exist/is not available \(-32601\)$") as error:
        node.call("no_such", b"[]", 0)
    assert (error.value.code, error.value.data) == (-32601, None)
    with pytest.raises(RpcError, match=r"\(address\)") as error:
        node.call("eth_getBalance", b'["0x12","latest"]', 0)
    assert error.value.code == -32602


def test_calls_beyond_the_queue_are_rejected(make_node: MakeNode) -> None:
    node = make_node(threads=1, queue=2)
    refused = []
    for ticket in range(200):
        try:
            assert node.call("eth_estimateGas", ESTIMATE, ticket) is None
        except RpcError as error:
            refused.append(error)
    assert refused
    assert {(error.code, error.data) for error in refused} == {(-32005, b'{"limit":"queue","max":2}')}
    assert set(outcomes(node, 200 - len(refused)).values()) == {b'"0x5208"'}


def test_view_of_a_body_does_not_change(node: Node) -> None:
    entrance = node.entrance(LIMITS)
    entrance.exclude("eth_chainId")
    body = entrance.respond(b'[{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}]')
    assert isinstance(body, PendingBody)
    view = node.view_of(body)
    params = b'["pending",false]'
    assert view.call("eth_getBlockByNumber", params, 1) is None
    before = outcomes(node, 1)[1]
    number = view.call("eth_blockNumber", b"[]", 0)
    wait_until(lambda: node.call("eth_blockNumber", b"[]", 0) != number)
    assert view.call("eth_blockNumber", b"[]", 0) == number
    assert view.call("eth_getBlockByNumber", params, 2) is None
    assert node.call("eth_getBlockByNumber", params, 3) is None
    after = outcomes(node, 2)
    assert after[2] == before != after[3]


class PollFd(ctypes.Structure):
    """`struct pollfd` of poll(2)."""

    _fields_ = (("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short))


def test_worker_pool_needs_no_gil(node: Node) -> None:
    assert node.call("eth_estimateGas", ESTIMATE, 1) is None
    waited = PollFd(node.event_fd(), select.POLLIN, 0)
    assert ctypes.PyDLL(None).poll(ctypes.byref(waited), ctypes.c_ulong(1), 60_000) == 1  # PyDLL keeps the GIL
    assert node.drain() == ([(1, b'"0x5208"')], [])


def test_no_view_exists_before_the_start(make_node: MakeNode) -> None:
    node = make_node(start=False)
    with pytest.raises(RpcError, match="starting") as error:
        node.call("eth_blockNumber", b"[]", 0)
    assert error.value.code == -32002
    ready, reason = node.ready()
    assert not ready
    assert "replaying" in reason
    assert node.freshness()[:2] == (0, 0)


def test_view_is_fresh_during_production(node: Node) -> None:
    wait_until(lambda: node.freshness()[2] < 5_000)
    block, index, _, epoch = node.freshness()
    assert block >= 1
    assert index >= 0
    assert epoch == 0
    assert node.health() == node.ready() == (True, "ok")
    status = orjson.loads(node.status())
    assert status["role"] == "sequencer"
    assert status["phase"] == "producing"


def test_a_stopped_node_reports_it_and_its_chain_resumes(make_node: MakeNode, tmp_path: Path) -> None:
    node = Node(settings(tmp_path / "data"))
    node.start()
    wait_until(lambda: node.freshness()[0] >= 2)
    node.stop()
    node.stop()
    healthy, reason = node.health()
    assert not healthy
    assert "stopped" in reason
    with pytest.raises(RpcError, match="stopping") as error:
        node.call("eth_estimateGas", ESTIMATE, 2)
    assert error.value.code == -32002
    pending = orjson.loads(node.status())
    del node  # and with it the lock
    gc.collect()
    node = make_node()
    wait_until(lambda: node.freshness()[0] > int(pending["block"], 16))
    assert node.call("eth_getBlockByNumber", orjson.dumps([pending["block"], False]), 3) is None
    block = outcomes(node, 1)[3]
    assert isinstance(block, bytes)
    assert orjson.loads(block)["hash"] == pending["hash"]


def test_stop_loses_no_ticket(make_node: MakeNode) -> None:
    node = make_node(threads=1)
    for ticket in range(500):
        assert node.call("eth_estimateGas", ESTIMATE, ticket) is None
    node.stop()
    completions = []
    # Outcomes of long calls arrive in groups.
    while done := node.drain()[0]:
        completions += done
    assert sorted(ticket for ticket, _ in completions) == list(range(500))
    for _, outcome in completions:
        if isinstance(outcome, RpcError):
            assert (outcome.code, outcome.message) == (-32002, "the node is stopping")
        else:
            assert outcome == b'"0x5208"'


def test_data_directory_allows_one_node(make_node: MakeNode, tmp_path: Path) -> None:
    node = make_node()
    with pytest.raises(NodeError, match="in use by process") as error:
        Node(settings(tmp_path / "data"))
    assert error.value.kind == "in-use"
    code = "import sys; from foreseal._core import Node; Node(sys.stdin.buffer.read())"
    other = subprocess.run(
        [sys.executable, "-c", code], input=settings(tmp_path / "data"), capture_output=True, check=False
    )
    assert other.returncode == 1
    assert b"NodeError" in other.stderr
    assert node.health()[0]


def test_lock_is_released_with_the_node(tmp_path: Path) -> None:
    for _ in range(2):
        node = Node(settings(tmp_path))
        node.start()
        node.stop()
        del node
        gc.collect()


def test_node_can_be_dropped_during_calls(tmp_path: Path) -> None:
    for _ in range(3):
        busy_node_that_goes(tmp_path)  # the lock is free again


def busy_node_that_goes(datadir: Path) -> None:
    node = Node(settings(datadir))
    node.start()
    wait_until(lambda: node.ready()[0])
    for ticket in range(100):
        assert node.call("eth_estimateGas", ESTIMATE, ticket) is None


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"nonsense": 1}, "settings", "unknown field `nonsense`"),
        ({"block_time": 1500}, "settings", "block time must be a whole number of seconds"),
        ({"block_time": 0}, "settings", "block time must be a whole number of seconds"),
        ({"step": 5}, "settings", "step must be at least 10ms"),
        ({"step": 1001}, "settings", "step must be at least 10ms and at most the block time of 1s"),
        ({"extra_data": "0x" + "00" * 33}, "settings", "extra data must have at most 32 bytes, got 33"),
        ({"fee_recipient": "0x12"}, "settings", "settings: "),
        ({"log": {"levels": "loud"}}, "settings", "log level must be"),
        ({"chain": {"kind": "stored"}}, "genesis", "has no chain yet"),
        ({"chain": {"kind": "file", "path": "/no/such/file"}}, "genesis", "genesis /no/such/file: "),
        ({"chain": DEV_CHAIN | {"mnemonic": JUNK + " junk"}}, "settings", "mnemonic: "),
    ],
)
def test_unusable_settings_are_named(tmp_path: Path, changes: dict[str, Any], kind: str, message: str) -> None:
    with pytest.raises(NodeError, match=message) as error:
        Node(settings(tmp_path, **changes))
    assert error.value.kind == kind
    assert "\n" not in error.value.message


@pytest.mark.parametrize("given", [b"", b"{", b"{}", b"[]", b"null", b'{"datadir":1}'])
def test_settings_are_one_json_object(given: bytes) -> None:
    with pytest.raises(NodeError, match=r"^settings: ") as error:
        Node(given)
    assert error.value.kind == "settings"


def test_another_genesis_is_rejected(tmp_path: Path) -> None:
    node = Node(settings(tmp_path))
    del node
    with pytest.raises(NodeError, match="another genesis") as error:
        Node(settings(tmp_path, chain=DEV_CHAIN | {"chain_id": 5}))
    assert error.value.kind == "genesis"


def test_tier_has_separate_limits_and_shares_the_rest(tmp_path: Path) -> None:
    node = Node(settings(tmp_path))
    node.start()
    wait_until(lambda: node.ready()[0])
    tier = node.for_tier(b'{"call_gas": 30000, "filters": 1}')
    place = "0x" + "ab" * 20
    gas_left = orjson.dumps([{"to": place, "gas": "0x100000"}, "latest", {place: {"code": "0x5a60005260206000f3"}}])
    node.call("eth_call", gas_left, 1)
    tier.call("eth_call", gas_left, 2)
    by_ticket = outcomes(node, 2)
    left, left_of_tier = (int(orjson.loads(by_ticket[ticket]), 16) for ticket in (1, 2))
    assert left_of_tier < 30_000 < left
    tier.call("eth_newBlockFilter", b"[]", 3)
    ident = outcomes(node, 1)[3]
    assert isinstance(ident, bytes)
    tier.call("eth_newBlockFilter", b"[]", 4)
    refused = outcomes(node, 1)[4]
    assert isinstance(refused, RpcError)
    assert refused.code == -32005
    node.call("eth_newBlockFilter", b"[]", 5)
    assert isinstance(outcomes(node, 1)[5], bytes)
    node.call("eth_uninstallFilter", b"[%b]" % ident, 6)
    assert outcomes(node, 1) == {6: b"true"}
    with pytest.raises(NodeError, match="unknown field `cal_gas`"):
        node.for_tier(b'{"cal_gas": 1}')
    node.stop()
