"""Refunds: to the payer of the transfer, within the capture, each paid once."""

import threading

import pytest

from foreseal.payments.chain import Reverted
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.disbursements.disbursements import RecipientForbidden
from foreseal.payments.disbursements.refunds import NotRefundable, Refunds
from foreseal.payments.ledger import (
    DisbursementState,
    DuplicateRecord,
    Finality,
    InsufficientAmount,
    Ledger,
    TransitionNotAllowed,
    TxStatus,
    UnknownRecord,
)
from payments.scan import paid
from payments.shop import BUYER, SHOP, Make, Shop

LOW = BUYER.address.lower()


def refund_status(shop: Shop, id: str) -> str:
    refund = shop.refunds.get(id)
    return f"{refund.state} / {refund.step}"


def test_a_refund_goes_from_its_reservation_to_a_final_transfer(shop: Shop) -> None:
    shop.captured("a", 500)
    assert shop.refunds.reserve("r", "a", 200)
    assert refund_status(shop, "r") == "Reserved / idle"
    assert shop.refunds.refundable("a") == 300
    shop.refunds.submit("r")
    assert refund_status(shop, "r") == "Broadcast / idle"
    shop.chain.step()
    shop.refunds.advance("r")
    assert refund_status(shop, "r") == "Complete / provisional"
    shop.chain.mine(12)
    shop.refunds.advance("r")
    assert refund_status(shop, "r") == "Complete / confirmed"
    shop.settle()
    assert refund_status(shop, "r") == "Complete / final"
    assert [(each.recipient, each.amount) for each in paid(shop.chain)] == [(LOW, 200)]
    assert shop.balance().refunded == 200
    assert [entry.after for entry in shop.refunds.timeline("r")] == [
        "Reserved",
        "Reserved (intended)",
        "Broadcast",
        "Complete (provisional)",
        "Complete (confirmed)",
        "Complete (final)",
    ]


def test_partial_refunds_never_exceed_the_capture(shop: Shop) -> None:
    shop.captured("a", 500)
    shop.refunds.refund("1", "a", 200)
    shop.refunds.reserve("2", "a", 299)
    with pytest.raises(InsufficientAmount, match="refund of 2 units: 1 remain"):
        shop.refunds.refund("3", "a", 2)
    shop.refunds.refund("3", "a", 1)
    with pytest.raises(InsufficientAmount):
        shop.refunds.refund("4", "a", 1)
    shop.settle()
    assert sum(each.amount for each in paid(shop.chain)) == 500
    assert [row.id for row in shop.refunds_of("a")] == ["1", "2", "3"]
    assert shop.refunds.refundable("a") == 0


def test_repeated_refund_request_returns_the_same_refund(shop: Shop) -> None:
    shop.captured("a", 500)
    for _ in range(3):
        shop.refunds.refund("r", "a", 100)
    with pytest.raises(DuplicateRecord, match="r is another refund"):
        shop.refunds.refund("r", "a", 101)
    shop.settle()
    shop.refunds.refund("r", "a", 100)
    shop.settle()
    assert [each.amount for each in paid(shop.chain)] == [100]
    with pytest.raises(TransitionNotAllowed, match=r"Complete \(final\): merchant submits"):
        shop.refunds.submit("r")


def test_refund_without_an_amount_is_the_remainder(shop: Shop) -> None:
    shop.captured("a", 500)
    shop.refunds.refund("1", "a", 120)
    shop.refunds.reserve("2", "a", 80)
    assert shop.refunds.reserve("rest", "a")
    assert shop.refunds.get("rest").amount == 300
    assert shop.refunds.timeline("rest")[0].details == {"reason": "remainder"}
    assert not shop.refunds.reserve("rest", "a")
    with pytest.raises(DuplicateRecord, match="1 is another refund"):
        shop.refunds.reserve("1", "a")
    with pytest.raises(InsufficientAmount, match="nothing remains of the capture"):
        shop.refunds.reserve("more", "a")
    for id in ("1", "2", "rest"):
        shop.refunds.advance(id)
    shop.settle()
    assert sorted(each.amount for each in paid(shop.chain)) == [80, 120, 300]


def test_concurrent_refunds_of_the_remainder_reserve_it_once(shop: Shop) -> None:
    shop.captured("a", 500)
    answers: list[object] = []

    def work(number: int) -> None:
        try:
            answers.append(shop.refunds.reserve(f"r{number}", "a"))
        except Exception as error:  # a thread's error would be lost
            answers.append(type(error))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, answers)) == sorted(map(str, [True, *[InsufficientAmount] * 3]))
    assert shop.balance().reserved == 500


def test_concurrent_refunds_are_summed_one_after_another(shop: Shop) -> None:
    shop.captured("a", 500)
    answers: list[object] = []

    def work(number: int) -> None:
        try:
            answers.append(shop.refunds.reserve(f"r{number}", "a", 200))
        except Exception as error:  # a thread's error would be lost
            answers.append(type(error))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, answers)) == sorted(
        map(str, [True, True, InsufficientAmount, InsufficientAmount, InsufficientAmount])
    )
    assert shop.balance().reserved == 400


def test_refund_requires_a_capture_with_sufficient_finality(make: Make) -> None:
    shop = make(refundable=Finality.CONFIRMED)
    shop.captures.capture(shop.stored("a"))
    with pytest.raises(NotRefundable, match="a is Stored, unused, broadcast"):
        shop.refunds.reserve("r", "a", 1)
    shop.chain.mine()
    shop.go_on()
    with pytest.raises(NotRefundable, match="a is Used, captured, provisional"):
        shop.refunds.reserve("r", "a", 1)
    shop.chain.mine(12)
    shop.go_on()
    assert shop.refunds.reserve("r", "a", 1)
    for amount, error in ((0, ValueError), (-1, ValueError), (1.0, TypeError)):
        with pytest.raises(error, match="amount"):
            shop.refunds.reserve("s", "a", amount)  # type: ignore[arg-type]
    with pytest.raises(UnknownRecord):
        shop.refunds.reserve("s", "x", 1)


def test_a_forbidden_recipient_blocks_the_refund_and_frees_the_amount(shop: Shop) -> None:
    shop.captured("a", 500)
    shop.captured("b", 500)
    shop.chain.change(lambda state: state.blacklisted.add(LOW))
    assert shop.refunds.refund("1", "a", 500).state is DisbursementState.BLOCKED
    shop.chain.change(lambda state: state.blacklisted.clear())
    shop.chain.change(lambda state: state.policy_forbids.add(LOW))
    assert shop.refunds.refund("2", "b", 500).state is DisbursementState.BLOCKED
    assert shop.refunds.refundable("a") == 500
    with pytest.raises(TransitionNotAllowed, match="Blocked"):
        shop.refunds.submit("1")
    blocked = {"reason": "recipient_forbidden", "message": f"{BUYER.address} is forbidden"}
    assert shop.refunds.timeline("1")[-1].details == blocked
    assert paid(shop.chain) == []


def test_recipient_forbidden_after_the_check_blocks_the_refund(shop: Shop) -> None:
    shop.captured("a", 500)
    shop.refunds.refund("r", "a", 500)
    shop.chain.change(lambda state: state.blacklisted.add(LOW))
    shop.chain.mine()
    shop.go_on()
    assert refund_status(shop, "r") == "Broadcast / idle"
    assert shop.refunds.refundable("a") == 0
    shop.settle()
    assert refund_status(shop, "r") == "Blocked / idle"
    assert shop.refunds.refundable("a") == 500


def test_other_revert_stays_reserved_and_is_paid_once(shop: Shop) -> None:
    shop.captured("a", 500)
    shop.chain.change(lambda state: setattr(state, "paused", True))
    with pytest.raises(Reverted, match="paused"):
        shop.refunds.refund("r", "a", 500)
    assert refund_status(shop, "r") == "Reserved / idle"
    shop.chain.change(lambda state: setattr(state, "paused", False))
    shop.refunds.submit("r")
    shop.chain.change(lambda state: setattr(state, "paused", True))
    shop.settle()
    assert refund_status(shop, "r") == "Reserved / failed"
    shop.chain.change(lambda state: setattr(state, "paused", False))
    shop.settle()
    assert refund_status(shop, "r") == "Complete / final"
    assert [each.amount for each in paid(shop.chain)] == [500]


def test_forbidden_merchant_does_not_blame_the_recipient(shop: Shop) -> None:
    shop.captured("a", 500)
    shop.chain.change(lambda state: state.blacklisted.add(SHOP.address.lower()))
    with pytest.raises(RecipientForbidden, match=SHOP.address):
        shop.refunds.refund("r", "a", 500)
    assert list(shop.refunds.resume()) == ["r"]
    assert refund_status(shop, "r") == "Reserved / idle"


@pytest.mark.parametrize("executed", [False, True])
def test_lost_response_pays_no_refund_twice(shop: Shop, *, executed: bool) -> None:
    shop.captured("a", 500)
    shop.node.losses.append(("eth_sendRawTransaction", executed))
    assert shop.refunds.refund("r", "a", 500).step is TxStatus.UNKNOWN
    shop.restart()
    shop.settle()
    assert [each.amount for each in paid(shop.chain)] == [500]
    assert refund_status(shop, "r") == "Complete / final"


@pytest.mark.parametrize("depth", [3, 20])
def test_a_reorganization_pays_no_refund_twice(shop: Shop, depth: int) -> None:
    shop.captured("a", 500)
    shop.refunds.refund("r", "a", 500)
    shop.chain.mine(depth)
    shop.go_on()
    assert refund_status(shop, "r").startswith("Complete")
    shop.chain.reorganize(depth, dropped=True)
    shop.go_on()
    assert refund_status(shop, "r") == "Broadcast / idle"
    shop.settle()
    assert refund_status(shop, "r") == "Complete / final"
    assert [each.amount for each in paid(shop.chain)] == [500]


def test_a_refund_uses_another_nonce_after_a_foreign_use(shop: Shop) -> None:
    shop.captured("a", 500)
    shop.node.poor.add(SHOP.address.lower())
    shop.refunds.refund("r", "a", 500)
    shop.node.poor.clear()
    shop.chain.inject(SHOP.address.lower(), shop.merchant.domain.contract.lower(), b"")
    shop.chain.mine()
    shop.settle()
    shop.settle()
    assert refund_status(shop, "r") == "Complete / final"
    assert [each.amount for each in paid(shop.chain)] == [500]


def test_slower_process_does_not_fail_a_started_refund(shop: Shop) -> None:
    shop.captured("a", 500)
    shop.node.poor.add(SHOP.address.lower())
    shop.refunds.refund("r", "a", 500)
    shop.node.poor.clear()
    shop.chain.inject(SHOP.address.lower(), shop.merchant.domain.contract.lower(), b"")
    shop.chain.mine(shop.chain.finality + 1)

    def faster(point: CrashPoint) -> None:
        if point is CrashPoint.RECEIPT_READ:
            assert shop.refunds.advance("r").step is TxStatus.FAILED
            assert shop.refunds.advance("r").state is DisbursementState.BROADCAST

    Refunds(Ledger(shop.database, shop.ledger.clock, faster), shop.sender, shop.merchant).advance("r")
    assert refund_status(shop, "r") == "Broadcast / idle"
    shop.settle()
    assert [each.amount for each in paid(shop.chain)] == [500]
