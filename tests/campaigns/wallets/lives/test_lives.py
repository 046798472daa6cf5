"""Short form of the random lives, and violations that the checks must find."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from sqlalchemy import update

from foreseal.payments.ledger.models import TransactionRecord
from wallets.lives import checks, runner
from wallets.lives.runner import LivesReport
from wallets.lives.world import Delivery, World
from wallets.paid_shop import PATHS, PRICE


@pytest.fixture
def world(sqlite: Callable[[], str]) -> Iterator[World]:
    made = World(sqlite(), 1, int(time.time()))
    yield made
    made.close()


def capture(world: World, id: str) -> None:
    """Send the capture of an order of an ordinary account."""
    shop, payer = world.shop, world.wallets[0].payer
    message = shop.orders.draft(id, replace(shop.terms(100), payer=payer.address))
    shop.orders.accept(id, payer.sign(message, shop.merchant.domain))
    shop.captures.capture(id)


@pytest.mark.timeout(240)
def test_random_lives_deliver_only_what_is_paid(sqlite: Callable[[], str]) -> None:
    report = runner.run(LivesReport("sqlite"), range(1, 3), sqlite, print)
    assert (report.lives, report.faults) == (2, [])
    assert report.steps == 2 * runner.STEPS
    assert any(name.startswith("killed") for name in report.counted)


@pytest.mark.timeout(120)
def test_unpaid_delivery_is_found(world: World) -> None:
    payment = world.paid.shop.payment(world.wallets[0].payer, PATHS["exact"])
    assert checks.at_end(world) == []
    world.deliveries["unpaid"] = Delivery(payment, PRICE, 1, 1)
    violations = checks.at_end(world)
    assert violations[0] == f"goods of {PRICE} units were delivered for 0"
    assert "payment unpaid was delivered, and not paid" in violations


@pytest.mark.timeout(120)
def test_queue_behind_a_rejected_transaction_is_found(world: World) -> None:
    for id in ("a", "b"):
        capture(world, id)
    world.chain.mine(checks.MAX_BLOCKS + 2)
    assert checks.waiting(world) == []
    with world.shop.database.transaction() as tx:
        first = update(TransactionRecord).where(TransactionRecord.account_nonce == 0)
        tx.execute(first.values({TransactionRecord.rejected_since: 1, TransactionRecord.rejection: "refused"}))
    (violation,) = checks.waiting(world)
    assert violation.startswith("1 transactions wait since block 1 behind")
