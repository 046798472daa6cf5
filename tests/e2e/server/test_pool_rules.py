"""Rules of the pool of a public node: minimum tip and gas cap."""

import json
from collections.abc import Iterator

import pytest

from foreseal.cli.genesis import build_genesis
from foreseal.client import Client
from foreseal.payments.chain.rpc_node import RpcNode
from foreseal.payments.transactions.fees import quote
from live import DEV_ACCOUNTS, LiveNode, Rpc, RpcFailure, live_node, wait_for
from live.process import foreseal_command
from live.sending import CHAIN_ID, MAX_FEE, signed

MIN_TIP = 1_000_000
GAS_CAP = 1 << 24
_AFTER_PRAGUE = ("osakaTime", "bpo1Time", "bpo2Time")
_ALICE, _BOB = DEV_ACCOUNTS[0], DEV_ACCOUNTS[1]


@pytest.fixture(scope="module")
def prague(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveNode]:
    """Run a public node on a chain whose transactions have no gas cap of their own."""
    folder = tmp_path_factory.mktemp("prague")
    genesis = build_genesis(CHAIN_ID, [(account.address, 10**21) for account in DEV_ACCOUNTS])
    for name in _AFTER_PRAGUE:
        genesis["config"].pop(name, None)
    file = folder / "genesis.json"
    file.write_text(json.dumps(genesis))
    command = [foreseal_command(), "run", "--datadir", str(folder / "data"), "--genesis", str(file), "--port", "0"]
    node = LiveNode([*command, "--public", "--public-rate", "0"])
    yield node
    assert node.stop() == 0


def refused(rpc: Rpc, raw: str) -> RpcFailure:
    with pytest.raises(RpcFailure) as raised:
        rpc("eth_sendRawTransaction", raw)
    assert raised.value.code == -32000
    return raised.value


def test_tip_below_the_minimum_is_refused(prague: LiveNode) -> None:
    error = refused(prague.rpc, signed(_ALICE, 0, maxPriorityFeePerGas=MIN_TIP - 1))
    assert error.message == "transaction underpriced"
    assert error.data == {"maxPriorityFeePerGas": hex(MIN_TIP - 1), "wantMaxPriorityFeePerGas": hex(MIN_TIP)}
    assert refused(prague.rpc, signed(_ALICE, 0, gasPrice=MIN_TIP - 1)).message == "transaction underpriced"
    tx_hash = prague.rpc("eth_sendRawTransaction", signed(_ALICE, 0, maxPriorityFeePerGas=MIN_TIP))
    wait_for(lambda: prague.rpc("eth_getTransactionReceipt", tx_hash), 10, "receipt")


def test_gas_above_the_cap_of_the_pool_is_refused(prague: LiveNode) -> None:
    error = refused(prague.rpc, signed(_BOB, 0, gas=GAS_CAP + 1))
    assert error.message == f"transaction gas limit is too high: have {GAS_CAP + 1}, the cap is {GAS_CAP}"
    assert error.data == {"have": hex(GAS_CAP + 1), "limit": hex(GAS_CAP)}
    prague.rpc("eth_sendRawTransaction", signed(_BOB, 0, gas=GAS_CAP))


def test_suggested_fees_pass_a_high_minimum_tip() -> None:
    min_tip = 3 * 10**9
    with live_node("--pool-min-tip", str(min_tip)) as node, Client(node.url) as client:
        assert int(node.rpc("eth_maxPriorityFeePerGas"), 16) == min_tip
        base_fee = int(node.rpc("eth_getBlockByNumber", "pending", False)["baseFeePerGas"], 16)
        assert int(node.rpc("eth_gasPrice"), 16) >= min_tip
        assert refused(node.rpc, signed(_ALICE, 0, maxFeePerGas=MAX_FEE, maxPriorityFeePerGas=min_tip - 1))
        # The fees that the payments service offers, and those of the node's own account.
        payments = RpcNode(client)
        head = payments.head("latest")
        assert head is not None
        fees = quote(payments, head)
        assert fees.fee >= base_fee + min_tip
        node.rpc(
            "eth_sendRawTransaction",
            signed(_ALICE, 0, maxFeePerGas=fees.fee, maxPriorityFeePerGas=fees.priority_fee),
        )
        low = {"from": _BOB.address, "to": _BOB.address, "maxFeePerGas": hex(MAX_FEE), "maxPriorityFeePerGas": "0x1"}
        assert node.rpc("eth_sendTransaction", low), "the node's own accounts are not subject to it"


def test_development_chain_has_neither_rule() -> None:
    with live_node() as node:
        node.rpc("eth_sendRawTransaction", signed(_ALICE, 0, maxPriorityFeePerGas=0))
