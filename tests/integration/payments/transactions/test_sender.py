"""One account nonce for each intent, and the same bytes on every attempt."""

import threading

import pytest
import rlp
from eth_account import Account
from sqlalchemy import select

from foreseal.payments.chain import RejectedByNode
from foreseal.payments.ledger import Finality, TxStatus
from foreseal.payments.ledger.models import AttemptRecord, Purpose, TransactionRecord, TxResult
from foreseal.payments.transactions import (
    GWEI,
    DeliveryStatus,
    FeeQuote,
    FeeSettings,
    FeeTooHigh,
    TransactionCall,
    TransactionSender,
    TransactionStillOpen,
    close_intent,
    open_intent,
    open_subjects,
    read_intent,
)
from payments.fake.blocks import decoded
from payments.fake.contracts import TOKEN, selector
from payments.shop import ADDRESS, SHOP, Shop

DATA = selector("approve(address,uint256)") + (1).to_bytes(32) + bytes(32)
ASKED = TransactionCall(ADDRESS, DATA, 100_000, FeeQuote(3 * GWEI, GWEI), 0, 1)


def store(shop: Shop, subject: str, call: TransactionCall | None = None) -> int:
    with shop.database.transaction() as tx:
        return shop.sender.intents.store(tx, Purpose.PAYOUT, subject, call or shop.sender.call(ADDRESS, DATA))


def raws(shop: Shop) -> list[bytes]:
    with shop.database.reading() as tx:
        return list(
            tx.execute(
                select(AttemptRecord.raw).order_by(AttemptRecord.transaction_id, AttemptRecord.ordinal)
            ).scalars()
        )


def sent(shop: Shop) -> int:
    return shop.node.calls.count("eth_sendRawTransaction")


def test_concurrent_senders_get_distinct_account_nonces(shop: Shop) -> None:
    failed: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for number in range(3):
                store(shop, f"{name} {number}", ASKED)
        except BaseException as error:  # a thread's error would be lost
            failed.append(error)

    threads = [threading.Thread(target=work, args=(f"thread {number}",)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    with shop.database.reading() as tx:
        nonces = tx.execute(select(TransactionRecord.account_nonce)).scalars().all()
    assert sorted(nonces) == list(range(15))
    assert sorted(decoded(raw).nonce for raw in raws(shop)) == list(range(15))


@pytest.mark.fake_chain
def test_stored_transaction_equals_the_signed_one(shop: Shop) -> None:
    intent = store(shop, "a")
    (raw,) = raws(shop)
    assert Account.recover_transaction(raw) == SHOP.address
    chain, nonce, priority, fee, gas, to, value, data, *_ = rlp.decode(raw[1:])
    numbers = [int.from_bytes(each, "big") for each in (chain, nonce, priority, fee, gas, value)]
    assert numbers == [31337, 0, GWEI, 3 * GWEI, 125_000, 0]
    assert ("0x" + to.hex(), data) == (TOKEN, DATA)
    with shop.database.reading() as tx:
        row, tried = read_intent(tx, intent)
    assert tried[0].hash == decoded(raw).hash
    assert (row.sender, row.account_nonce, row.round, row.ending) == (SHOP.address, 0, 0, None)
    assert sent(shop) == 0


def test_restart_resends_the_same_bytes_and_accepts_already_known(shop: Shop) -> None:
    intent = store(shop, "a")
    assert shop.sender.deliver(intent).status is DeliveryStatus.ACCEPTED
    shop.restart()
    assert shop.sender.deliver(intent).status is DeliveryStatus.ACCEPTED
    shop.chain.step()
    assert shop.sender.deliver(intent).status is DeliveryStatus.ACCEPTED
    assert len(raws(shop)) == 1
    assert shop.chain.pending.state.nonces[SHOP.address.lower()] == 1


def test_nonce_too_low_is_decided_by_all_receipts(shop: Shop) -> None:
    intent = store(shop, "a")
    shop.sender.deliver(intent)
    assert shop.sender.replace(intent)
    shop.chain.mine()
    delivered = shop.sender.deliver(intent)
    assert (delivered.status, "nonce too low" in delivered.message) == (DeliveryStatus.UNKNOWN, True)
    outcome = shop.sender.outcome(intent)
    assert outcome.receipt is not None
    assert outcome.receipt.transaction_hash == decoded(raws(shop)[0]).hash
    assert outcome.step is Finality.PROVISIONAL


@pytest.mark.fake_chain
def test_replacement_pays_ten_percent_more_with_the_same_nonce(shop: Shop) -> None:
    intent = store(shop, "a")
    shop.sender.deliver(intent)
    # The transaction is not mined.
    waiting = shop.chain.pool.copy()
    for _ in range(10):
        shop.chain.pool.clear()
        shop.chain.mine()
    shop.chain.pool.update(waiting)
    assert shop.sender.deliver(intent).status is DeliveryStatus.ACCEPTED
    first, second = map(decoded, raws(shop))
    assert (first.nonce, first.to, first.data) == (second.nonce, second.to, second.data)
    assert second.fee * 10 >= first.fee * 11
    assert second.priority_fee * 10 >= first.priority_fee * 11
    assert [each.hash for each in shop.chain.pool.values()] == [second.hash]
    shop.chain.mine()
    assert shop.sender.outcome(intent).receipt is not None
    assert shop.chain.latest.state.nonces[SHOP.address.lower()] == 1


@pytest.mark.parametrize("fee", [0, 1, 9, 10, 11, GWEI, GWEI + 1])
def test_fees_rise_by_ten_percent_or_more(fee: int) -> None:
    raised = FeeQuote(fee, fee).raised(FeeQuote(0, 0))
    assert raised.fee * 10 >= fee * 11
    assert raised.fee > fee
    assert FeeQuote(5, 1).raised(FeeQuote(1000, 900)) == FeeQuote(1000, 900)
    assert FeeQuote(5, 5).raised(FeeQuote(5, 900)) == FeeQuote(900, 900)


@pytest.mark.fake_chain
def test_node_with_a_higher_fee_attempt_counts_as_sent(shop: Shop) -> None:
    intent = store(shop, "a")
    shop.sender.replace(intent)
    shop.sender.deliver(intent)
    cheap = raws(shop)[0]
    with pytest.raises(RejectedByNode, match="underpriced"):
        shop.rpc.send(cheap)
    other = store(shop, "b")
    shop.chain.pool[SHOP.address.lower(), 1] = shop.chain.pool[SHOP.address.lower(), 0]
    assert shop.sender.deliver(other).status is DeliveryStatus.UNKNOWN


@pytest.mark.fake_chain
def test_fee_never_exceeds_the_limit(shop: Shop) -> None:
    modest = TransactionSender(shop.ledger, shop.rpc, shop.sender.intents, shop.policy, FeeSettings(max_fee=3 * GWEI))
    intent = store(shop, "a", modest.call(ADDRESS, DATA))
    assert not modest.replace(intent)
    assert len(raws(shop)) == 1
    with pytest.raises(FeeTooHigh, match="3000000000 wei per gas exceed the maximum of 2999999999"):
        TransactionSender(
            shop.ledger, shop.rpc, shop.sender.intents, shop.policy, FeeSettings(max_fee=3 * GWEI - 1)
        ).call(ADDRESS, DATA)


def test_second_transaction_waits_until_the_first_cannot_be_included(shop: Shop) -> None:
    intent = store(shop, "a")
    with pytest.raises(TransactionStillOpen, match="payout of a"):
        store(shop, "a")
    with shop.database.transaction() as tx:
        assert open_intent(tx, Purpose.PAYOUT, "a") == intent
        close_intent(tx, intent, TxResult.INCLUDED)
        assert open_intent(tx, Purpose.PAYOUT, "a") is None
    again = store(shop, "a")
    with shop.database.reading() as tx:
        assert read_intent(tx, again)[0].round == 1
        assert open_subjects(tx, Purpose.PAYOUT) == ["a"]
        assert open_subjects(tx, Purpose.CAPTURE) == []


def test_an_account_nonce_used_elsewhere_is_lost_once_final(shop: Shop) -> None:
    intent = store(shop, "a")
    shop.chain.inject(SHOP.address.lower(), TOKEN, DATA)
    shop.chain.mine()
    assert shop.sender.deliver(intent).status is DeliveryStatus.UNKNOWN
    assert shop.sender.outcome(intent).step is TxStatus.UNKNOWN
    shop.chain.mine(shop.chain.finality - 1)
    assert shop.sender.outcome(intent).step is TxStatus.UNKNOWN
    shop.chain.mine()
    outcome = shop.sender.outcome(intent)
    assert (outcome.receipt, outcome.step) == (None, TxStatus.FAILED)
    # The next one starts at the chain's nonce.
    with shop.database.reading() as tx:
        assert read_intent(tx, store(shop, "b"))[0].account_nonce == 1


def test_transaction_included_between_two_queries_is_not_lost(shop: Shop) -> None:
    intent = store(shop, "a")
    shop.sender.deliver(intent)

    def land(method: str) -> None:
        if method == "eth_getTransactionCount":
            shop.node.hook = None
            shop.chain.mine(shop.chain.finality + 1)

    shop.node.hook = land
    # No receipt was found, and now another transaction has used its account nonce with finality.
    assert shop.sender.outcome(intent).step is TxStatus.UNKNOWN
    assert shop.node.hook is None
    assert shop.sender.outcome(intent).step is Finality.FINAL


def test_transaction_rejected_by_the_node_stays_intended(shop: Shop) -> None:
    shop.node.poor.add(SHOP.address.lower())
    order = shop.captures.capture(shop.stored("a"))
    assert order.step is TxStatus.INTENDED
    shop.go_on()
    assert shop.orders.get("a").step is TxStatus.INTENDED
    shop.node.poor.clear()
    shop.settle()
    assert shop.status("a") == "Used, captured / final"
    assert len(raws(shop)) == 1 + len([raw for raw in raws(shop)[1:] if decoded(raw).nonce == 0])


def test_stored_transaction_is_sent_without_a_fee_query(shop: Shop) -> None:
    intent = store(shop, "a")
    shop.node.losses += [("eth_getBlockByNumber", False), ("eth_getBlockByNumber", False)]
    assert shop.sender.deliver(intent).status is DeliveryStatus.ACCEPTED
    assert len(shop.chain.pool) == 1


def test_receipt_of_a_newly_sealed_block_is_queried_again(shop: Shop) -> None:
    intent = store(shop, "a")
    shop.sender.deliver(intent)
    shop.chain.step()
    before = shop.chain.pending.hash

    def seal_meanwhile(method: str) -> None:
        if method == "eth_getBlockByNumber":
            shop.node.hook = None
            shop.pay(5)

    shop.node.hook = seal_meanwhile
    outcome = shop.sender.outcome(intent)
    assert outcome.receipt is not None
    assert outcome.receipt.block_hash == shop.chain.latest.hash != before
