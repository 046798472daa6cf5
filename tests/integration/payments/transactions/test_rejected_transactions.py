"""A transaction that the node never accepts ends; its account nonce and the payments behind it do not wait."""

from collections.abc import Callable

import pytest
from sqlalchemy import select

from foreseal.errors import RpcError
from foreseal.payments.ledger import TxStatus
from foreseal.payments.ledger.models import AttemptRecord, Purpose, TransactionRecord, TxResult
from foreseal.payments.ledger.queries import fetch_all
from foreseal.payments.transactions import DeliveryStatus, GasTooHigh, TransactionTooLarge, open_intent, read_intent
from payments.fake.blocks import decoded
from payments.scan import paid
from payments.shop import ADDRESS, SHOP, Shop

pytestmark = pytest.mark.fake_chain
OWN = SHOP.address.lower()
PERMANENT = (
    "exceeds block gas limit",
    "transaction gas limit too high (cap: 16777216, tx: 19750000)",
    "intrinsic gas too high -- tx.gas_limit > env.block.gas_limit",
    "TxGasLimitCapExceeded: Gas limit 19750000 exceeded cap of 16777216.",
    "oversized data: transaction size 131501, limit 131072",
    "transaction is too large: 131501 bytes, the limit is 131072",
    "transaction type not supported",
    "transaction gas limit is too high: have 19750000, the cap is 16777216",
)
TEMPORARY = (
    "insufficient funds for gas * price + value",
    "max fee per gas less than block base fee",
    "txpool is full",
    "sender has too many pooled transactions: the limit is 16",
    "tx fee (1.10 ether) exceeds the configured cap (1.00 ether)",
)


def attempts(shop: Shop) -> list[AttemptRecord]:
    """Return all attempts with the account nonce 0, oldest first."""
    with shop.database.reading() as tx:
        first = select(TransactionRecord.id).where(TransactionRecord.account_nonce == 0).scalar_subquery()
        query = select(AttemptRecord).where(AttemptRecord.transaction_id == first)
        return fetch_all(tx, query.order_by(AttemptRecord.ordinal))


def reject(shop: Shop, message: str, *, also: Callable[[bytes], bool] = lambda raw: False) -> Callable[[], None]:
    """Let the node reject the first stored transaction, and others that `also` selects. Return its end."""
    send = shop.node.eth_sendRawTransaction
    (first,) = attempts(shop)[:1]

    def sending(raw: str) -> str:
        encoded = bytes.fromhex(raw[2:])
        if decoded(encoded).hash == first.hash or also(encoded):
            raise RpcError(-32000, message)
        return send(raw)

    shop.node.eth_sendRawTransaction = sending

    def end() -> None:
        shop.node.eth_sendRawTransaction = send

    return end


def captured_but_never_accepted(shop: Shop, message: str) -> Callable[[], None]:
    """Decide the capture of an order `a`, whose transaction the node rejects with a message, then that of `b`."""
    shop.node.poor.add(SHOP.address.lower())
    shop.captures.capture(shop.stored("a", seconds=10**6))
    shop.node.poor.clear()
    end = reject(shop, message)
    shop.captures.capture(shop.stored("b", seconds=10**6))
    return end


@pytest.mark.parametrize("message", PERMANENT)
def test_permanent_rejection_frees_the_account_nonce(shop: Shop, message: str) -> None:
    captured_but_never_accepted(shop, message)
    shop.go_on()
    assert [(each.ordinal, each.is_empty) for each in attempts(shop)] == [(0, False), (1, True)]
    shop.chain.mine()
    shop.go_on()
    assert shop.status("b").startswith("Used, captured")
    assert shop.orders.get("a").step is not TxStatus.FAILED
    shop.settle()
    order = shop.orders.get("a")
    assert (order.step, order.last_error is not None and message in order.last_error) == (TxStatus.FAILED, True)
    assert shop.orders.timeline("a")[-1].details["reason"] == "rejected_by_node"
    with shop.database.reading() as tx:
        row = fetch_all(tx, select(TransactionRecord).where(TransactionRecord.account_nonce == 0))[0]
    assert row.ending is TxResult.REPLACED
    assert message in (row.rejection or "")
    assert shop.status("b") == "Used, captured / final"
    assert shop.balance().faults == ()


@pytest.mark.parametrize("message", TEMPORARY)
def test_temporary_rejection_keeps_the_transaction(shop: Shop, message: str) -> None:
    end = captured_but_never_accepted(shop, message)
    for _ in range(8):
        shop.chain.mine()
        shop.go_on()
    assert not any(each.is_empty for each in attempts(shop))
    end()
    shop.settle()
    assert [shop.status(id) for id in "ab"] == ["Used, captured / final"] * 2
    with shop.database.reading() as tx:
        assert set(tx.execute(select(TransactionRecord.rejection)).scalars()) == {None}


def test_unknown_rejection_ends_the_transaction_after_three_blocks(shop: Shop) -> None:
    captured_but_never_accepted(shop, "a policy of this provider")
    shop.go_on()
    for _ in range(2):
        shop.chain.mine()
        shop.go_on()
        assert not any(each.is_empty for each in attempts(shop))
    shop.chain.mine()
    shop.go_on()
    assert [each.is_empty for each in attempts(shop)] == [False, True]
    shop.settle()
    assert shop.orders.get("a").step is TxStatus.FAILED
    assert shop.status("b") == "Used, captured / final"


def test_transaction_included_before_its_empty_transfer_counts(shop: Shop) -> None:
    end = captured_but_never_accepted(shop, "exceeds block gas limit")
    rejected = attempts(shop)[0]
    shop.go_on()
    # A node with other rules had the first attempt, and a block includes that one.
    end()
    shop.chain.pool[OWN, 0] = decoded(rejected.raw)
    shop.chain.mine()
    shop.settle()
    assert [shop.status(id) for id in "ab"] == ["Used, captured / final"] * 2
    assert shop.balance().faults == ()


def test_order_can_be_captured_again_after_a_rejection(shop: Shop) -> None:
    captured_but_never_accepted(shop, "oversized data")
    shop.settle()
    assert shop.orders.get("a").step is TxStatus.FAILED
    shop.captures.capture("a")
    shop.settle()
    assert shop.status("a") == "Used, captured / final"


def test_rejected_refund_fails_and_is_paid_once_by_the_next(shop: Shop) -> None:
    shop.captured("a", 500)
    shop.node.poor.add(SHOP.address.lower())
    shop.refunds.refund("r", "a", 100)
    shop.node.poor.clear()
    with shop.database.reading() as tx:
        intent = open_intent(tx, Purpose.REFUND, "r")
    send = shop.node.eth_sendRawTransaction

    def sending(raw: str) -> str:
        if decoded(bytes.fromhex(raw[2:])).to == ADDRESS.lower():
            raise RpcError(-32000, "transaction type not supported")
        return send(raw)

    shop.node.eth_sendRawTransaction = sending
    assert intent is not None
    delivered = shop.sender.deliver(intent)
    assert (delivered.status, "type not supported" in delivered.message) == (DeliveryStatus.REJECTED, True)
    for _ in range(shop.chain.finality + 2):
        shop.chain.mine()
        shop.refunds.advance("r")
    with shop.database.reading() as tx:
        assert read_intent(tx, intent)[0].ending is TxResult.REPLACED
    shop.node.eth_sendRawTransaction = send
    shop.settle()
    assert [each.amount for each in paid(shop.chain)] == [100]


def test_empty_transfer_is_replaced_by_another_empty_one(shop: Shop) -> None:
    captured_but_never_accepted(shop, "oversized data")
    shop.go_on()
    for _ in range(12):
        shop.chain.pool.clear()
        shop.chain.mine()
    shop.go_on()
    assert [each.is_empty for each in attempts(shop)] == [False, True, True]
    shop.settle()
    assert shop.orders.get("a").step is TxStatus.FAILED


def test_call_above_the_limits_of_a_transaction_stores_nothing(shop: Shop) -> None:
    shop.node.eth_estimateGas = lambda call, block: hex(16_777_217)
    with pytest.raises(GasTooHigh, match="needs 16777217 gas; a transaction may have at most 16777216"):
        shop.captures.capture(shop.stored("a", seconds=10**6))
    shop.node.eth_estimateGas = lambda call, block: hex(15_800_000)
    assert shop.sender.call(ADDRESS, b"").gas == 16_777_216
    with pytest.raises(TransactionTooLarge, match="nodes accept at most 131072"):
        shop.sender.call(ADDRESS, bytes(131_072))
    with shop.database.reading() as tx:
        assert fetch_all(tx, select(TransactionRecord)) == []
