"""The facilitator's schemes on a real node, with payments of the stock client."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from foreseal.payments.x402.facilitator.bounds import FacilitatorBounds
from foreseal.payments.x402.facilitator.facilitator import Facilitator
from foreseal.payments.x402.payment_key import settled
from foreseal.payments.x402.payment_status import PaymentFate
from payments.x402.paying import demand, manual_payment, over_permit2, pay
from payments.x402.world import BUYERS, FACILITATOR, SHOP, STRANGER, World


@pytest.fixture
def facilitator(world: World, sqlite: Callable[[], str]) -> Facilitator:
    return world.facilitator(sqlite())


@pytest.mark.parametrize("asked", [demand(1000), over_permit2(1100)], ids=["eip3009", "permit2"])
def test_exact_moves_exactly_the_amount_once(world: World, facilitator: Facilitator, asked: object) -> None:
    payment = pay(BUYERS[0], asked)
    amount, before = int(asked.amount), world.balance(SHOP.address)
    assert facilitator.verify(payment, asked).is_valid
    settlement = facilitator.settle(payment, asked)
    assert settlement.success, settlement
    assert world.receipt(settlement.transaction)["status"] == "0x1"
    assert world.balance(SHOP.address) == before + amount
    sent = world.sent_by(FACILITATOR.address)
    assert facilitator.settle(payment, asked) == settlement
    assert not facilitator.verify(payment, asked).is_valid
    assert world.sent_by(FACILITATOR.address) == sent
    assert world.balance(SHOP.address) == before + amount


@pytest.mark.parametrize("charged", [1, 700, 1000])
def test_upto_settles_the_charged_amount(world: World, facilitator: Facilitator, charged: int) -> None:
    asked, before = demand(1000, "upto"), world.balance(SHOP.address)
    payment = pay(BUYERS[1], asked)
    assert facilitator.verify(payment, asked).is_valid
    settlement = facilitator.settle(payment, asked.model_copy(update={"amount": str(charged)}))
    assert (settlement.success, settlement.amount) == (True, str(charged))
    assert world.balance(SHOP.address) == before + charged


def test_upto_with_amount_zero_releases_without_a_settlement(world: World, facilitator: Facilitator) -> None:
    asked, before, sent = demand(1000, "upto"), world.balance(SHOP.address), world.sent_by(FACILITATOR.address)
    payment = pay(BUYERS[1], asked)
    nothing = asked.model_copy(update={"amount": "0"})
    assert facilitator.settle(payment, nothing).success
    assert facilitator.settle(payment, nothing).success
    later = facilitator.settle(payment, asked)
    assert (later.success, later.error_reason) == (False, "payment_settled_otherwise")
    status = facilitator.status(settled(payment, asked).key)
    assert (status.fate, status.amount, status.final) == (PaymentFate.SETTLED, 0, True)
    assert world.balance(SHOP.address) == before
    assert world.sent_by(FACILITATOR.address) == sent


def test_upto_above_the_maximum_is_rejected(world: World, facilitator: Facilitator) -> None:
    asked, before, sent = demand(1000, "upto"), world.balance(SHOP.address), world.sent_by(FACILITATOR.address)
    payment = pay(BUYERS[1], asked)
    settlement = facilitator.settle(payment, asked.model_copy(update={"amount": "1001"}))
    assert not settlement.success
    assert world.balance(SHOP.address) == before
    assert world.sent_by(FACILITATOR.address) == sent


def test_exact_with_amount_zero_is_rejected(world: World, facilitator: Facilitator) -> None:
    asked, sent = demand(0), world.sent_by(FACILITATOR.address)
    payment = manual_payment(BUYERS[1], asked)
    assert facilitator.verify(payment, asked).invalid_reason == "amount_is_zero"
    assert facilitator.settle(payment, asked).error_reason == "amount_is_zero"
    assert world.sent_by(FACILITATOR.address) == sent


def test_facilitator_settles_only_for_configured_payees(world: World, facilitator: Facilitator) -> None:
    asked = demand(1000)
    payment = pay(BUYERS[1], asked)
    sent = world.sent_by(FACILITATOR.address)
    for bounds, reason in (
        (FacilitatorBounds(payees=frozenset({STRANGER.address})), "payee_not_allowed"),
        (FacilitatorBounds(tokens=frozenset({STRANGER.address})), "asset_not_allowed"),
    ):
        bounded = Facilitator(facilitator.settlements, bounds)
        assert bounded.verify(payment, asked).invalid_reason == reason
        assert bounded.settle(payment, asked).error_reason == reason
    assert world.sent_by(FACILITATOR.address) == sent
    allowed = FacilitatorBounds(frozenset({asked.asset.lower()}), frozenset({SHOP.address}))
    assert Facilitator(facilitator.settlements, allowed).settle(payment, asked).success


def test_eight_concurrent_copies_make_one_transaction(world: World, url: str) -> None:
    processes = [world.facilitator(url), world.facilitator(url)]
    asked, before, sent = demand(1000), world.balance(SHOP.address), world.sent_by(FACILITATOR.address)
    payment = pay(BUYERS[2], asked)
    with ThreadPoolExecutor(8) as pool:
        copies = [pool.submit(processes[number % 2].settle, payment, asked) for number in range(8)]
        answers = [each.result() for each in copies]
    assert [answer.success for answer in answers] == [True] * 8, answers
    assert len({answer.transaction for answer in answers}) == 1
    assert world.sent_by(FACILITATOR.address) == sent + 1
    assert world.balance(SHOP.address) == before + 1000


def test_payments_beyond_the_balance_are_rejected_before_submission(world: World, url: str) -> None:
    processes = [world.facilitator(url), world.facilitator(url)]
    buyer, start = BUYERS[3], world.pending
    had = world.balance(buyer.address)
    half = had // 2 + 1
    asked = demand(half)
    payments = [manual_payment(buyer, asked) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        settling = [pool.submit(processes[number % 2].settle, each, asked) for number, each in enumerate(payments)]
        answers = [each.result() for each in settling]
    assert sorted(answer.success for answer in answers) == [False, False, False, True], answers
    assert {receipt["status"] for receipt in world.receipts_of(FACILITATOR.address, start)} == {"0x1"}
    assert world.balance(buyer.address) == had - half


def test_payment_past_its_end_is_proven_unsettled_once_final(world: World, facilitator: Facilitator) -> None:
    asked = demand(1000)
    payment = pay(BUYERS[4], asked)
    wanted = settled(payment, asked)
    assert facilitator.status(wanted.key, wanted.deadline).fate is PaymentFate.OPEN
    with world.rollback():
        world.finalize(3600)
        status = facilitator.status(wanted.key, wanted.deadline)
        assert (status.fate, status.final, status.never) == (PaymentFate.UNSETTLED, True, True)
        assert not facilitator.status(wanted.key).never


def test_a_settled_payment_becomes_final(world: World, facilitator: Facilitator) -> None:
    asked = demand(1000)
    payment = pay(BUYERS[5], asked)
    answer = facilitator.settle(payment, asked)
    key = settled(payment, asked).key
    with world.rollback():
        world.finalize()
        status = facilitator.status(key)
        assert (status.fate, status.final, status.transaction) == (PaymentFate.SETTLED, True, answer.transaction)
        assert not status.never
