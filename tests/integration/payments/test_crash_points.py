"""The process is killed at every point between intent and effect, and a new one resumes."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from foreseal.payments.crash_points import CrashPoint, ignore_crash_point
from foreseal.payments.ledger import DisbursementState, OrderState, TransitionNotAllowed
from foreseal.payments.orders.acceptances import Acceptances
from foreseal.payments.orders.reconciler import NotExpired
from payments.fake.contracts import PAYOUTS
from payments.people import BATCH_CAPTURE
from payments.scan import canceled, incoming, paid
from payments.shop import BUYER, BUYERS, SHOP, Killed, Make, Shop

BATCH = b"\7" * 32
LEGS = [(BUYERS[1].address, 30), (BUYERS[2].address, 40)]


def surviving(shop: Shop, act: Callable[[], object]) -> None:
    """Call like a client: if the process dies, start it, resume unfinished work, and call again."""
    try:
        act()
    except Killed:
        # The chain continues without it: a transaction sent too early would be included.
        shop.chain.mine()
        shop.restart()
        surviving(shop, shop.go_on)
        with contextlib.suppress(TransitionNotAllowed):  # it was decided before the process died
            surviving(shop, act)


def _store(shop: Shop) -> None:
    """Create the orders of a life."""
    for id in ("captured", "canceled", "expired"):
        shop.stored(id, 500, seconds=1_000)


def _accept_unassigned(shop: Shop) -> None:
    """Create the orders of a life without payer, and one more, which is voided before any signature."""
    for id in ("captured", "canceled", "expired", "unsigned"):
        shop.unassigned(id, 500, seconds=1_000)
    surviving(shop, lambda: shop.orders.void("unsigned"))
    for id in ("captured", "canceled", "expired"):
        surviving(shop, lambda id=id: shop.accept(id))  # type: ignore[misc]


def life(shop: Shop, store: Callable[[Shop], None] = _store) -> None:
    """Run every operation of a merchant once, with the service's work in between."""
    chain = shop.chain
    store(shop)
    surviving(shop, lambda: shop.orders.void("canceled"))
    # The node never accepts the first capture; an empty transfer takes its account nonce.
    shop.node.oversized.add(0)
    surviving(shop, lambda: shop.captures.capture("captured"))
    surviving(shop, shop.go_on)
    chain.mine(chain.finality + 1)
    surviving(shop, shop.go_on)
    surviving(shop, lambda: shop.captures.capture("captured"))
    # The capture is not mined until it is replaced.
    for _ in range(11):
        chain.drop()
        chain.mine()
    surviving(shop, shop.go_on)
    surviving(shop, lambda: shop.cancel("canceled"))
    chain.mine()
    surviving(shop, shop.go_on)
    chain.reorganize(1, dropped=True)
    for _ in range(2):
        surviving(shop, shop.go_on)
        chain.mine(chain.finality + 1)
    surviving(shop, shop.go_on)
    chain.change(lambda state: state.allowances.update({(SHOP.address.lower(), PAYOUTS): 70}))
    surviving(shop, lambda: shop.refunds.refund("refund", "captured", 200))
    surviving(shop, lambda: shop.payouts.submit(shop.payouts.prepare(BATCH, PAYOUTS, LEGS)))
    chain.advance(1_000)
    chain.mine(chain.finality + 1)
    surviving(shop, shop.go_on)
    surviving(shop, lambda: shop.progress.expire("expired"))
    chain.mine(chain.finality + 1)
    surviving(shop, shop.go_on)


@pytest.mark.fake_chain
@pytest.mark.parametrize("point", CrashPoint, ids=lambda point: point.name)
def test_crash_at_any_point_loses_and_doubles_no_payment(make: Make, point: CrashPoint) -> None:
    check(make(finality=4), point)


@pytest.mark.fake_chain
@pytest.mark.parametrize("point", CrashPoint, ids=lambda point: point.name)
def test_crash_at_any_point_of_a_batch_loses_and_doubles_no_payment(make: Make, point: CrashPoint) -> None:
    check(make(finality=4, batch_capture=BATCH_CAPTURE), point)


@pytest.mark.fake_chain
@pytest.mark.parametrize("point", CrashPoint, ids=lambda point: point.name)
def test_crash_at_any_point_of_unassigned_orders_loses_no_payment(make: Make, point: CrashPoint) -> None:
    shop = make(finality=4)
    check(shop, point, _accept_unassigned)
    unsigned = shop.orders.get("unsigned")
    assert (unsigned.state, unsigned.payer) == (OrderState.VOIDED, None)
    assert {shop.orders.get(id).payer for id in ("captured", "canceled", "expired")} == {BUYER.address}


@pytest.mark.fake_chain
def test_crash_during_the_accept_stores_nothing(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.unassigned("a")
    bind = Acceptances._bind

    def die(*given: Any) -> None:
        bind(*given)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Acceptances, "_bind", die)
        with pytest.raises(Killed):
            shop.accept("a")
    shop.restart()
    assert (shop.status("a"), shop.orders.get("a").payer) == ("Drafted / idle", None)
    shop.accept("a", BUYERS[1])
    assert (shop.status("a"), shop.orders.get("a").payer) == ("Stored, unused / idle", BUYERS[1].address)


def check(shop: Shop, point: CrashPoint, store: Callable[[Shop], None] = _store) -> None:
    """Kill the process at a point, and compare ledger and chain at the end."""
    shop.crashes.arm(point)
    life(shop, store)
    assert shop.crashes.armed is None, "the place was not passed"
    assert [(each.amount, each.sender) for each in incoming(shop.chain)] == [(500, BUYER.address.lower())]
    assert sorted(each.amount for each in paid(shop.chain)) == [30, 40, 200]
    assert canceled(shop.chain) == {(BUYER.address.lower(), shop.orders.get("canceled").nonce)}
    assert [shop.orders.get(id).state for id in ("captured", "canceled", "expired")] == [
        OrderState.CAPTURED,
        OrderState.CANCELED,
        OrderState.EXPIRED,
    ]
    assert shop.refunds.get("refund").state is DisbursementState.COMPLETE
    assert shop.payouts.get("0x" + BATCH.hex()).state is DisbursementState.COMPLETE
    assert shop.rows() == {each.row() for each in incoming(shop.chain)}
    sums = shop.balance()
    assert (sums.captured, sums.refunded, sums.reserved, sums.unmatched, sums.faults) == (500, 200, 0, 0, ())
    nonces = shop.chain.latest.state.nonces[SHOP.address.lower()]
    assert nonces == 5, "each transaction has one account nonce"


@pytest.mark.fake_chain
def test_run_without_crashes_passes_every_crash_point(make: Make) -> None:
    shop = make(finality=4)
    life(shop)
    assert set(shop.crashes.passed) == set(CrashPoint)
    assert len(CrashPoint) >= 12
    ignore_crash_point(CrashPoint.CAPTURE_STORED)
    with pytest.raises(NotExpired):
        shop.progress.expire("captured")
