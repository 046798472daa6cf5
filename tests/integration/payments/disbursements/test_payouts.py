"""Payouts: recipients are checked first, a batch is paid once, and splits lose nothing."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreseal.payments.disbursements.disbursements import RecipientForbidden
from foreseal.payments.disbursements.payouts import NotFunded, split
from foreseal.payments.ledger import DisbursementState, DuplicateRecord, Finality
from payments.fake.contracts import PAYOUTS
from payments.scan import paid
from payments.shop import BUYERS, SHOP, Shop

BATCH = b"\7" * 32
LEGS = [(BUYERS[0].address, 100), (BUYERS[1].address, 200), (BUYERS[0].address, 100)]


def fund(shop: Shop, amount: int = 1_000) -> None:
    shop.chain.change(lambda state: state.balances.update({SHOP.address.lower(): amount}))
    shop.chain.change(lambda state: state.allowances.update({(SHOP.address.lower(), PAYOUTS): amount}))


def test_batch_is_paid_once_with_each_leg(shop: Shop) -> None:
    fund(shop)
    id = shop.payouts.prepare(BATCH, PAYOUTS, LEGS)
    assert id == "0x" + "07" * 32
    assert shop.payouts.prepare(BATCH, PAYOUTS, LEGS) == id
    with pytest.raises(DuplicateRecord, match="another batch"):
        shop.payouts.prepare(BATCH, PAYOUTS, LEGS[:2])
    assert shop.payouts.submit(id).state is DisbursementState.BROADCAST
    shop.chain.step()
    assert shop.payouts.advance(id).step is Finality.PROVISIONAL
    shop.chain.mine(12)
    assert shop.payouts.advance(id).step is Finality.CONFIRMED
    shop.settle()
    assert (shop.payouts.get(id).state, shop.payouts.get(id).step) == (DisbursementState.COMPLETE, Finality.FINAL)
    assert [(each.recipient, each.amount) for each in paid(shop.chain)] == [
        (recipient.lower(), amount) for recipient, amount in LEGS
    ]
    assert len(shop.payouts.timeline(id)) == 6


@pytest.mark.parametrize("rule", ["blacklisted", "policy_forbids"])
def test_the_recipient_at_fault_is_named(shop: Shop, rule: str) -> None:
    fund(shop)
    at_fault = BUYERS[1].address.lower()
    shop.chain.change(lambda state: getattr(state, rule).add(at_fault))
    with pytest.raises(RecipientForbidden, match=BUYERS[1].address):
        shop.payouts.prepare(BATCH, PAYOUTS, LEGS)
    shop.chain.change(lambda state: getattr(state, rule).clear())
    id = shop.payouts.prepare(BATCH, PAYOUTS, LEGS)
    shop.chain.change(lambda state: getattr(state, rule).add(at_fault))
    assert shop.payouts.submit(id).state is DisbursementState.BLOCKED
    blocked = {"reason": "recipient_forbidden", "message": f"{BUYERS[1].address} is forbidden"}
    assert shop.payouts.timeline(id)[-1].details == blocked


@pytest.mark.parametrize("rule", ["blacklisted", "policy_forbids"])
def test_forbidden_payouts_contract_is_named_and_blocks_no_batch(shop: Shop, rule: str) -> None:
    fund(shop)
    id = shop.payouts.prepare(BATCH, PAYOUTS, LEGS)
    shop.chain.change(lambda state: getattr(state, rule).add(PAYOUTS))
    with pytest.raises(RecipientForbidden) as error:
        shop.payouts.submit(id)
    assert error.value.account.lower() == PAYOUTS
    assert shop.payouts.get(id).state is DisbursementState.RESERVED


def test_unfunded_or_invalid_batch_is_rejected(shop: Shop) -> None:
    fund(shop, 399)
    with pytest.raises(NotFunded, match="needs 400 units, but only 399"):
        shop.payouts.prepare(BATCH, PAYOUTS, LEGS)
    nobody = "0x" + "00" * 20
    for legs in ([], [(BUYERS[0].address, 1)] * 101, [(BUYERS[0].address, 0)], [("0x12", 1)], [(nobody, 1)]):
        with pytest.raises(ValueError, match=r"legs|amount|recipient"):
            shop.payouts.prepare(BATCH, PAYOUTS, legs)
    with pytest.raises(ValueError, match="batch"):
        shop.payouts.prepare(b"", PAYOUTS, LEGS)


@pytest.mark.fake_chain
def test_batch_with_missing_logs_is_not_complete(shop: Shop) -> None:
    fund(shop)
    id = shop.payouts.prepare(BATCH, PAYOUTS, LEGS)
    shop.payouts.submit(id)
    shop.chain.step()
    landed = shop.chain.pending.landed[0]
    events = landed.events
    for missing in range(len(events)):
        landed.events = events[:missing] + events[missing + 1 :]
        assert shop.payouts.advance(id).state is DisbursementState.BROADCAST
    landed.events = events
    assert shop.payouts.advance(id).state is DisbursementState.COMPLETE


def test_paid_batch_is_not_paid_again(shop: Shop) -> None:
    fund(shop)
    id = shop.payouts.prepare(BATCH, PAYOUTS, LEGS)
    shop.payouts.submit(id)
    shop.chain.mine(3)
    shop.go_on()
    shop.chain.reorganize(3, dropped=True)
    shop.go_on()
    assert shop.payouts.get(id).state is DisbursementState.BROADCAST
    shop.settle()
    assert len(paid(shop.chain)) == 3


@given(
    total=st.integers(0, 2**256 - 1),
    cuts=st.lists(st.integers(0, 10_000), max_size=20),
    at=st.integers(0, 20),
)
def test_split_distributes_the_complete_amount(total: int, cuts: list[int], at: int) -> None:
    bounds = [0, *sorted(cuts), 10_000]
    shares = [after - before for before, after in itertools.pairwise(bounds)]
    remainder = at % len(shares)
    parts = split(total, shares, remainder)
    assert sum(parts) == total
    for number, (part, share) in enumerate(zip(parts, shares, strict=True)):
        exact = total * share
        assert part * 10_000 <= exact or number == remainder
        assert exact - part * 10_000 < 10_000


def test_invalid_split_is_rejected() -> None:
    assert split(100, [3_333, 3_333, 3_334], 0) == [34, 33, 33]
    with pytest.raises(ValueError, match="9999 basis points"):
        split(100, [9_999], 0)
    with pytest.raises(ValueError, match="share 1 does not exist"):
        split(100, [10_000], 1)
    with pytest.raises(TypeError, match="total"):
        split(1.0, [10_000], 0)  # type: ignore[arg-type]
