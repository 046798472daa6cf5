"""Nodes that omit receipts, logs, state or blocks. Nothing is paid twice, and nothing stalls forever."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from foreseal.errors import RpcError
from foreseal.payments.chain import ChainReorganized, Incomplete, RejectedByNode, Reverted
from foreseal.payments.ledger.models import AttemptRecord
from foreseal.payments.orders.terms import memo
from foreseal.payments.transfers.settings import WatcherSettings
from foreseal.payments.transfers.watcher import TransferWatcher
from payments.fake.blocks import decoded
from payments.fake.contracts import selector, topic
from payments.scan import paid, received
from payments.shop import ADDRESS, BUYER, SHOP, Shop

pytestmark = pytest.mark.fake_chain
LOW = BUYER.address.lower()
OWN = SHOP.address.lower()
POLICY_FORBIDS = selector("PolicyForbids(bytes32,uint64)")


def refund_status(shop: Shop, id: str) -> str:
    refund = shop.refunds.get(id)
    return f"{refund.state} / {refund.step}"


def answers(shop: Shop, method: str, instead: Callable[..., Any]) -> None:
    """Replace a method of the node; `instead` receives the original method first."""
    true = getattr(shop.node, method)
    setattr(shop.node, method, lambda *params: instead(true, *params))


def honest(shop: Shop, method: str) -> None:
    delattr(shop.node, method)


def test_a_refund_whose_receipt_is_withheld_is_not_paid_again(shop: Shop) -> None:
    shop.captured("a", 500)
    shop.refunds.refund("r", "a", 500)
    answers(shop, "eth_getTransactionReceipt", lambda true, hash: None)
    shop.chain.mine(shop.chain.finality + 1)
    for _ in range(3):
        (error,) = shop.refunds.resume().values()
        assert isinstance(error, Incomplete)
        shop.chain.mine()
    assert refund_status(shop, "r") == "Broadcast / idle"
    honest(shop, "eth_getTransactionReceipt")
    shop.settle()
    assert refund_status(shop, "r") == "Complete / final"
    assert [each.amount for each in paid(shop.chain)] == [500]


def test_successful_receipt_without_logs_is_not_a_failure(shop: Shop) -> None:
    shop.captured("a", 500)
    shop.captures.capture(shop.stored("b", 300))
    shop.refunds.refund("r", "a", 500)
    answers(shop, "eth_getTransactionReceipt", lambda true, hash: {**(true(hash) or {"blockNumber": None}), "logs": []})
    answers(shop, "eth_getLogs", lambda true, wanted: [])
    shop.chain.mine(shop.chain.finality + 1)
    for _ in range(3):
        shop.go_on()
        shop.chain.mine()
    assert isinstance(shop.refunds.resume()["r"], Incomplete)
    assert isinstance(shop.progress.resume()["b"], Incomplete)
    assert refund_status(shop, "r") == "Broadcast / idle"
    assert shop.status("b") == "Stored, unused / broadcast"
    honest(shop, "eth_getTransactionReceipt")
    honest(shop, "eth_getLogs")
    shop.settle()
    assert refund_status(shop, "r") == "Complete / final"
    assert shop.status("b") == "Used, captured / final"
    assert [each.amount for each in paid(shop.chain)] == [500]


def test_node_without_old_state_receives_stored_transactions(shop: Shop) -> None:
    def count(true: Callable[..., Any], address: str, block: str) -> Any:
        if block.startswith("0x"):
            raise RpcError(-32000, "missing trie node 12 (path ) state 0x34 is not available")
        return true(address, block)

    answers(shop, "eth_getTransactionCount", count)
    shop.captures.capture(shop.stored("a"))
    shop.chain.mine(shop.chain.finality)
    shop.captures.capture(shop.stored("b"))
    shop.chain.drop()
    shop.chain.mine()
    assert shop.progress.resume() == {}
    shop.settle()
    assert [shop.status(id) for id in "ab"] == ["Used, captured / final"] * 2


def test_an_order_expires_on_a_node_without_old_state(shop: Shop) -> None:
    def call(true: Callable[..., Any], given: Any, block: str) -> Any:
        if block == hex(shop.chain.finalized):
            raise RpcError(-32000, "missing trie node 12 (path ) state 0x34 is not available")
        return true(given, block)

    shop.stored("a", seconds=60)
    shop.chain.advance(60)
    shop.chain.mine(shop.chain.finality + 2)
    answers(shop, "eth_call", call)
    shop.progress.expire("a")
    assert shop.status("a") == "Expired / idle"


def test_no_block_is_final_while_the_latest_is_below_it(shop: Shop) -> None:
    shop.captures.capture(shop.stored("a"))
    shop.chain.mine(2)

    def block(true: Callable[..., Any], name: str, full: bool) -> Any:
        return {**true("latest", full), "number": "0x63"} if name == "finalized" else true(name, full)

    answers(shop, "eth_getBlockByNumber", block)
    assert isinstance(shop.progress.resume()["a"], ChainReorganized)
    with pytest.raises(ChainReorganized):
        shop.watcher.poll()
    assert shop.status("a") == "Stored, unused / broadcast"


def test_fees_do_not_rise_while_gas_cannot_be_paid(shop: Shop) -> None:
    shop.node.poor.add(OWN)
    shop.captures.capture(shop.stored("a", seconds=10**6))
    for _ in range(30):
        shop.chain.mine(10)
        shop.go_on()
    with shop.database.reading() as tx:
        raws = tx.execute(select(AttemptRecord.raw)).scalars().all()
    assert len(raws) == 1
    shop.node.poor.clear()
    shop.settle()
    assert shop.status("a") == "Used, captured / final"


def test_underpriced_transaction_gets_higher_fees(shop: Shop) -> None:
    shop.captures.capture(shop.stored("a", seconds=10**6))
    shop.chain.drop()
    answers(shop, "eth_maxPriorityFeePerGas", lambda true: hex(5 * 10**9))

    def send(true: Callable[..., Any], raw: str) -> Any:
        if decoded(bytes.fromhex(raw[2:])).priority_fee < 5 * 10**9:
            raise RpcError(-32000, "transaction underpriced: gas tip cap 1000000000, minimum needed 5000000000")
        return true(raw)

    answers(shop, "eth_sendRawTransaction", send)
    shop.chain.mine(10)
    shop.go_on()
    shop.settle()
    assert shop.status("a") == "Used, captured / final"


def test_cancellation_below_the_draft_block_is_found(shop: Shop) -> None:
    shop.chain.mine(30)
    shop.stored("a")
    shop.payer_cancels("a")
    shop.orders.void("a")
    shop.chain.mine()
    shop.progress.reconcile("a")
    assert shop.status("a") == "Canceled / provisional"
    shop.chain.reorganize(20)
    assert shop.chain.find(shop.chain.blocks[12].landed[0].transaction.hash) is not None
    shop.settle()
    assert shop.status("a") == "Canceled / final"


def test_log_without_a_receipt_reverts_no_state(shop: Shop) -> None:
    shop.stored("a")
    shop.payer_cancels("a")
    shop.orders.void("a")
    shop.chain.mine()
    shop.progress.reconcile("a")
    answers(shop, "eth_getTransactionReceipt", lambda true, hash: None)
    assert list(shop.progress.resume()) == ["a"]
    assert shop.status("a") == "Canceled / provisional"
    honest(shop, "eth_getTransactionReceipt")
    shop.settle()
    assert shop.status("a") == "Canceled / final"


def test_logs_of_a_removed_block_delay_nothing(shop: Shop) -> None:
    def logs(true: Callable[..., Any], wanted: Any) -> Any:
        entries = true(wanted)
        return [*entries, *({**log, "removed": True, "blockHash": "0x" + "ee" * 32} for log in entries)]

    answers(shop, "eth_getLogs", logs)
    shop.captures.capture(shop.stored("a"))
    shop.pay(5)
    shop.watcher.poll()
    assert shop.rows() == {each.row() for each in received(shop.chain)}
    assert len(shop.rows()) == 2


@pytest.mark.parametrize("limit", [1, 3])
def test_rejected_log_query_is_split_into_fewer_blocks(shop: Shop, limit: int) -> None:
    def logs(true: Callable[..., Any], wanted: Any) -> Any:
        entries = true(wanted)
        if len(entries) > limit:
            raise RpcError(-32005, "query returned more than 10000 results")
        return entries

    answers(shop, "eth_getLogs", logs)
    for amount in range(1, 9):
        shop.pay(amount)
        shop.chain.mine(amount)
    shop.watcher.poll()
    assert shop.rows() == {each.row() for each in received(shop.chain)}
    assert shop.balance().received == 36


def test_node_that_rejects_all_logs_is_not_queried_per_block(shop: Shop) -> None:
    shop.chain.mine(1000)

    def logs(true: Callable[..., Any], wanted: Any) -> Any:
        raise RpcError(-32005, "daily request count exceeded, request rate limited")

    answers(shop, "eth_getLogs", logs)
    with pytest.raises(RejectedByNode, match="rate limited"):
        shop.watcher.poll()
    assert shop.node.calls.count("eth_getLogs") < 20


def test_preconfirmed_logs_without_a_block_are_deferred(shop: Shop) -> None:
    shop.captures.capture(shop.stored("a"))
    shop.chain.step()

    def logs(true: Callable[..., Any], wanted: Any) -> Any:
        entries = true(wanted)
        return [
            {**log, "blockNumber": None, "logIndex": None} if wanted["fromBlock"] == "pending" else log
            for log in entries
        ]

    answers(shop, "eth_getLogs", logs)
    shop.watcher.poll()
    shop.chain.mine()
    shop.watcher.poll()
    assert shop.status("a") == "Used, captured / provisional"


def test_node_without_a_pending_block_is_queried_for_latest(shop: Shop) -> None:
    def block(true: Callable[..., Any], name: str, full: bool) -> Any:
        if name == "pending":
            raise RpcError(-32000, "pending block is not available")
        return true(name, full)

    answers(shop, "eth_getBlockByNumber", block)
    shop.captures.capture(shop.stored("a"))
    shop.settle()
    assert shop.status("a") == "Used, captured / final"


@pytest.mark.parametrize("scope", ["TRANSFER_SENDER_POLICY", "TRANSFER_EXECUTOR_POLICY"])
def test_a_policy_against_the_merchant_blocks_no_refund(shop: Shop, scope: str) -> None:
    shop.captured("a", 500)

    def estimate(true: Callable[..., Any], call: Any, block: str) -> Any:
        data = POLICY_FORBIDS + topic(scope) + (7).to_bytes(32, "big")
        raise RpcError(3, "execution reverted", f'"0x{data.hex()}"'.encode())

    answers(shop, "eth_estimateGas", estimate)
    with pytest.raises(Reverted, match="reverts"):
        shop.refunds.refund("r", "a", 500)
    assert refund_status(shop, "r") == "Reserved / idle"
    honest(shop, "eth_estimateGas")
    shop.settle()
    assert refund_status(shop, "r") == "Complete / final"


def test_a_memo_of_another_chain_names_no_order(shop: Shop) -> None:
    shop.stored("a")
    shop.pay(500, memo("a"))
    other = WatcherSettings(1, ADDRESS, SHOP.address, policy=shop.policy)
    TransferWatcher(shop.ledger, shop.rpc, other).poll()
    assert len(shop.orders.timeline("a")) == 3
