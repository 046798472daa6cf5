"""A third party's transaction that vanishes leaves a nonce gap; payments must not wait for it forever."""

import pytest
from sqlalchemy import func, select

from foreseal.errors import RpcError
from foreseal.payments.ledger.models import AttemptRecord, Purpose
from foreseal.payments.transactions import DeliveryStatus, open_intent
from payments.fake.blocks import decoded
from payments.fake.contracts import TOKEN
from payments.scan import paid
from payments.shop import SHOP, Shop

pytestmark = pytest.mark.fake_chain
OWN = SHOP.address.lower()


def tried(shop: Shop) -> int:
    with shop.database.reading() as tx:
        return int(tx.execute(select(func.count()).select_from(AttemptRecord)).scalar_one())


def test_dropped_foreign_transaction_blocks_no_nonce(shop: Shop) -> None:
    shop.captured("a", 500)
    shop.chain.inject(OWN, TOKEN, b"")
    shop.chain.inject(OWN, TOKEN, b"")
    shop.chain.step()
    shop.captures.capture(shop.stored("b", seconds=10**6))
    shop.refunds.refund("r", "a", 100)
    own = {key: each for key, each in shop.chain.pool.items() if key[0] == OWN}
    assert sorted(nonce for _, nonce in own) == [3, 4]
    # The pending block is discarded with both of the third party's transactions.
    shop.chain.reorganize(1, dropped=True)
    shop.chain.pool.update(own)
    before = tried(shop)
    for _ in range(20):
        shop.go_on()
        shop.chain.mine()
    assert shop.chain.latest.state.nonces[OWN] == 5
    # Higher fees would not have helped.
    assert tried(shop) == before
    shop.settle()
    assert shop.status("b") == "Used, captured / final"
    assert [each.amount for each in paid(shop.chain)] == [100]
    assert shop.balance().faults == ()


def test_one_wrong_nonce_of_the_node_blocks_nothing(shop: Shop) -> None:
    true = shop.node.eth_getTransactionCount
    shop.node.eth_getTransactionCount = lambda address, block: "0x7"  # type: ignore[method-assign]
    shop.captures.capture(shop.stored("a", seconds=10**6))
    shop.node.eth_getTransactionCount = true  # type: ignore[method-assign]
    for _ in range(30):
        shop.chain.mine()
        shop.go_on()
    assert shop.status("a").startswith("Used, captured")
    assert shop.chain.latest.state.nonces[OWN] == 8


def test_account_nonce_of_the_ledger_is_not_filled(shop: Shop) -> None:
    shop.captures.capture(shop.stored("a", seconds=10**6))
    shop.captures.capture(shop.stored("b", seconds=10**6))
    held = shop.chain.pool.pop((OWN, 0))
    send = shop.node.eth_sendRawTransaction

    def refuse(raw: str) -> str:
        if decoded(bytes.fromhex(raw[2:])).hash == held.hash:
            raise RpcError(-32000, "txpool is full")
        return send(raw)

    shop.node.eth_sendRawTransaction = refuse  # type: ignore[method-assign]
    for _ in range(15):
        shop.chain.mine()
        shop.go_on()
    assert shop.chain.latest.state.nonces.get(OWN, 0) == 0
    assert [key for key in shop.chain.pool if key[0] == OWN] == [(OWN, 1)]
    shop.node.eth_sendRawTransaction = send  # type: ignore[method-assign]
    shop.settle()
    assert [shop.status(id) for id in "ab"] == ["Used, captured / final"] * 2


def test_two_processes_replace_a_transaction_once(shop: Shop) -> None:
    shop.captures.capture(shop.stored("a", seconds=10**6))
    shop.chain.drop()
    shop.chain.mine(10)
    shop.chain.drop()
    with shop.database.reading() as tx:
        intent = open_intent(tx, Purpose.CAPTURE, "a")
    assert intent is not None

    def other_process(method: str) -> None:
        if method == "eth_maxPriorityFeePerGas":
            shop.node.hook = None
            assert shop.sender.replace(intent)

    shop.node.hook = other_process
    assert shop.sender.deliver(intent).status is DeliveryStatus.ACCEPTED
    assert shop.node.hook is None
    assert tried(shop) == 2
