"""Checks before captures through the batch capture contract, and how groups become transactions."""

import dataclasses
from collections.abc import Callable

import pytest
from sqlalchemy import select

from foreseal.payments.chain import Reverted
from foreseal.payments.chain.batch_capture import CAPTURE, CAPTURE_FROM_WALLETS, max_batch_gas
from foreseal.payments.ledger.models import (
    OrderRecord,
)
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.capture_batches import MAX_TRANSACTION_GAS, BatchedCapture, plan_batches
from foreseal.payments.orders.capture_checks import CaptureObstacle, NotCapturable
from foreseal.payments.orders.captures import Captures
from foreseal.payments.transactions import FeeQuote, FeeSettings, TransactionCall
from payments.batching import check_books, fund, group, transactions
from payments.people import BATCH_CAPTURE
from payments.shop import ADDRESS, BUYER, BUYERS, SHOP, Make, Shop

LOW = BUYER.address.lower()


@pytest.fixture
def batching(make: Make) -> Shop:
    """Return a merchant with a batch capture contract."""
    return make(batch_capture=BATCH_CAPTURE, finality=10)


OBSTACLES: dict[CaptureObstacle, Callable[[Shop], object]] = {
    CaptureObstacle.USED: lambda shop: shop.chain.change(lambda state: state.used.add((LOW, (1).to_bytes(32, "big")))),
    CaptureObstacle.BALANCE: lambda shop: fund(shop, BUYER, 99),
    CaptureObstacle.PAUSED: lambda shop: shop.chain.change(lambda state: setattr(state, "paused", True)),
    CaptureObstacle.FORBIDDEN: lambda shop: shop.chain.change(lambda state: state.blacklisted.add(LOW)),
    CaptureObstacle.LATE: lambda shop: shop.chain.advance(3600 - 61),
}


@pytest.mark.parametrize("obstacle", OBSTACLES, ids=lambda obstacle: obstacle.name)
def test_obstacles_are_found_before_anything_is_stored(batching: Shop, obstacle: CaptureObstacle) -> None:
    shop = batching
    payment = shop.payment("a", 100)
    OBSTACLES[obstacle](shop)
    (rejection,) = shop.check([payment])
    assert isinstance(rejection, NotCapturable)
    assert rejection.obstacle is obstacle
    assert "eth_sendRawTransaction" not in shop.node.calls


def test_reverting_capture_is_found_by_an_estimate_as_the_contract(batching: Shop) -> None:
    shop = batching
    payment = shop.payment("a", 100)

    def forbid(method: str) -> None:
        if method == "eth_estimateGas":
            shop.chain.change(lambda state: state.used.add((LOW, payment.nonce)))

    shop.node.hook = forbid
    (rejection,) = shop.check([payment])
    assert isinstance(rejection, NotCapturable)
    assert (rejection.obstacle, rejection.detail) == (
        CaptureObstacle.REVERTS,
        "FiatTokenV2: authorization is used or canceled",
    )
    assert isinstance(rejection.__cause__, Reverted)


@pytest.mark.parametrize("holder", [BATCH_CAPTURE, SHOP.address], ids=["contract", "merchant"])
@pytest.mark.fake_chain
def test_forbidden_contract_or_merchant_blocks_every_capture(batching: Shop, holder: str) -> None:
    shop = batching
    shop.chain.change(lambda state: state.policy_forbids.add(holder.lower()))
    (rejection,) = shop.check([shop.payment("a", 100)])
    assert isinstance(rejection, NotCapturable)
    assert (rejection.obstacle, rejection.detail) == (CaptureObstacle.FORBIDDEN, holder)


@pytest.mark.fake_chain
def test_contract_of_another_merchant_is_rejected(batching: Shop) -> None:
    shop = batching
    read = shop.node.answer

    def other(method: str, *params: object) -> object:
        answer = read(method, *params)
        is_owner = method == "eth_call" and params[0]["data"] == "0xa5ff7651"  # type: ignore[index]
        return "0x" + "11" * 32 if is_owner else answer

    shop.node.answer = other  # type: ignore[method-assign]
    (rejection,) = shop.check([shop.payment("a", 100)])
    assert isinstance(rejection, NotCapturable)
    assert rejection.obstacle is CaptureObstacle.DOMAIN


def test_order_of_the_contract_is_not_captured_without_the_setting(batching: Shop) -> None:
    shop = batching
    shop.stored("a")
    bare = Merchant(shop.merchant.domain, SHOP.address)
    with pytest.raises(NotCapturable) as error:
        Captures(shop.ledger, shop.sender, bare).capture("a")
    assert error.value.obstacle is CaptureObstacle.DOMAIN
    with pytest.raises(ValueError, match="batch_capture: must not be the payee"):
        Merchant(shop.merchant.domain, SHOP.address, batch_capture=SHOP.address)
    with pytest.raises(ValueError, match="payer: must not be the payee"):
        shop.payments.new("b", dataclasses.replace(shop.terms(1), payer=BATCH_CAPTURE), b"", capture=True)


def test_expensive_captures_have_their_own_transactions(batching: Shop) -> None:
    """The contract forwards the same gas for each order of a batch, so an expensive one is alone."""
    shop = batching
    cheap = shop.payment("cheap", 1)
    assert shop.store_group([cheap]) == ["cheap"]
    shop.sender.fees = FeeSettings(gas_percent=1_000)
    ids = group(shop, *BUYERS)
    batches = transactions(shop)
    assert [each.account_nonce for each in batches] == [0, 1, 2, 3]
    assert {bytes(each.data[:4]) for each in batches[1:]} == {CAPTURE_FROM_WALLETS}
    shop.settle()
    assert {shop.status(id) for id in ids} == {"Used, captured / final"}
    check_books(shop)
    shop.sender.fees = FeeSettings(gas_percent=100_000, payer_code_gas=2**24)
    (rejected,) = shop.check([shop.payment("d", 1)])
    assert isinstance(rejected, NotCapturable)
    assert (rejected.obstacle, "can forward at most" in rejected.detail) == (CaptureObstacle.REVERTS, True)


def test_signatures_of_other_lengths_have_their_own_form(batching: Shop) -> None:
    shop = batching
    quote, call = FeeQuote(2, 1), bytes(100)
    captures = [
        BatchedCapture(
            dataclasses.replace(shop.payment(f"p{number}", 1), signature=bytes(size)),
            TransactionCall(ADDRESS, call, 90_000, quote, number, 7),
        )
        for number, size in enumerate([65, 130, 65, 0, 3_000])
    ]
    plain, wallets = plan_batches(captures)
    assert (plain.order_ids, wallets.order_ids) == (("p0", "p2"), ("p1", "p3", "p4"))
    assert (plain.call.data[:4], wallets.call.data[:4]) == (CAPTURE, CAPTURE_FROM_WALLETS)
    assert (plain.call.target, plain.call.next_nonce, plain.call.block) == (BATCH_CAPTURE, 2, 7)
    assert wallets.call.gas == max_batch_gas(wallets.call.data)
    many = plan_batches([captures[1]] * 200)
    assert [len(batch.order_ids) for batch in many] == [67, 67, 66]
    assert max(batch.call.gas for batch in many) <= MAX_TRANSACTION_GAS
    assert plan_batches([]) == []


def test_large_group_has_several_transactions(batching: Shop) -> None:
    shop = batching
    payments = [shop.payment(f"p{number:03}", 1) for number in range(160)]
    assert len(shop.store_group(payments)) == 160
    batches = transactions(shop)
    assert [each.account_nonce for each in batches] == [0, 1, 2]
    assert max(each.gas for each in batches) <= 16_777_216
    shop.settle()
    with shop.database.reading() as tx:
        rows = tx.execute(select(OrderRecord.state, OrderRecord.step, OrderRecord.capture_batch).distinct()).all()
    assert {(state, step) for state, step, _ in rows} == {("Used, captured", "final")}
    assert len({batch for _, _, batch in rows}) == 3
    check_books(shop)
