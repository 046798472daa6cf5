"""The process ends at every point between a payment and its response, and another one resumes."""

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

import httpx
import pytest

from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.x402.crash_points import PaidPoint
from foreseal.payments.x402.facilitator.facilitator import InProcessFacilitator
from foreseal.payments.x402.payment_key import granted
from live import wait_for
from payments.shop import Crashes, Killed
from payments.x402.selling import Selling, settlement, signed
from payments.x402.world import BUYERS, FACILITATOR, SHOP, World

BUYER = BUYERS[19]
POINTS: list[StrEnum] = [
    *PaidPoint,
    CrashPoint.TRANSACTION_SENT,
    CrashPoint.TRANSACTION_NOTED,
    CrashPoint.RECEIPT_READ,
    CrashPoint.RECEIPT_APPLIED,
    CrashPoint.RECEIPT_STORED,
]
# The handler's response is lost: the payer is not charged, and learns so once it is proven.
LOST = {PaidPoint.GRANT_STORED, PaidPoint.HANDLER_ENDED}


def process(world: World, url: str, crashes: Crashes, seconds_ahead: int = 0, **patience: float) -> Selling:
    """Return a seller that settles by itself and ends at a crash point."""
    facilitator = world.facilitator(url, **patience)
    settlements, sender = facilitator.settlements, facilitator.settlements.sender
    settlements.ledger = sender.ledger = replace(settlements.ledger, passed=crashes)
    selling = Selling(world, url, InProcessFacilitator(facilitator), seconds_ahead)
    selling.seller.ledger = selling.seller.grants.ledger = replace(selling.seller.ledger, passed=crashes)
    return selling


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_crash_at_any_point_loses_and_doubles_no_payment(world: World, url: str, point: StrEnum) -> None:
    end(world, url, point, "/report")


@pytest.mark.parametrize("path", ["/permit2", "/upto/700"])
@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_crash_over_permit2_loses_and_doubles_no_payment(
    world: World, sqlite: Callable[[], str], point: StrEnum, path: str
) -> None:
    end(world, sqlite(), point, path)


def end(world: World, url: str, point: StrEnum, path: str) -> None:
    """End the process at a crash point during a sale, and resume with another one."""
    crashes, price = Crashes(), 700 if "upto" in path else 1000
    first = process(world, url, crashes)
    payment, before = first.bought(BUYER, path), world.balance(SHOP.address)
    start, sent = world.pending, world.sent_by(FACILITATOR.address)
    crashes.arm(point)
    with pytest.raises(Killed):
        first.get(path, payment)
    assert crashes.armed is None, "the place was not passed"
    # A working process has a minute to continue; then another process takes over.
    second = process(world, url, Crashes(), seconds_ahead=120)
    response = second.get(path, payment)
    if point in LOST:
        assert response.status_code == 409
        with world.rollback():
            world.finalize(3600)
            status = second.get(response.json()["status"]).json()
            assert (status["neverSettled"], status["final"]) == (True, True)
            assert second.get(path, payment).status_code == 402
        price, runs = 0, 0 if point is PaidPoint.GRANT_STORED else 1
    else:
        assert response.status_code == 200, response.text
        assert second.get(path, payment).content == response.content
        assert world.receipt(settlement(response).transaction)["status"] == "0x1"
        runs = 1
    assert first.runs[path] + second.runs[path] == runs
    assert world.balance(SHOP.address) == before + price
    assert world.sent_by(FACILITATOR.address) == sent + bool(price)
    assert all(receipt["status"] == "0x1" for receipt in world.receipts_of(FACILITATOR.address, start))


def test_request_without_a_crash_passes_every_crash_point(world: World, url: str) -> None:
    crashes = Crashes()
    selling = process(world, url, crashes)
    assert selling.get("/report", selling.bought(BUYER, "/report")).status_code == 200
    assert set(POINTS) <= set(crashes.passed)


def test_stored_unsent_settlement_is_sent_after_a_restart(world: World, url: str) -> None:
    crashes = Crashes()
    first = process(world, url, crashes)
    payment, before = first.bought(BUYER, "/report"), world.balance(SHOP.address)
    crashes.arm(PaidPoint.SETTLEMENT_STORED)
    with pytest.raises(Killed):
        first.get("/report", payment)
    assert world.balance(SHOP.address) == before
    restarted = world.facilitator(url)
    assert restarted.settlements.resume() == {}
    world.receipt(restarted.settlements.newest(granted(payment).key))
    assert world.balance(SHOP.address) == before + 1000
    # No other request learns that the payment is free: the seller checks the chain first.
    shop = process(world, url, Crashes(), seconds_ahead=120)
    response = shop.get("/report", payment)
    assert response.status_code == 200
    assert not shop.runs


def test_a_transaction_lost_by_the_node_is_resent(world: World, url: str) -> None:
    crashes = Crashes()
    first = process(world, url, crashes)
    payment, before = first.bought(BUYER, "/report"), world.balance(SHOP.address)
    snapshot = world.rpc("evm_snapshot")
    crashes.arm(CrashPoint.TRANSACTION_NOTED)
    with pytest.raises(Killed):
        first.get("/report", payment)
    assert world.rpc("evm_revert", snapshot)
    second = process(world, url, Crashes(), seconds_ahead=120, seconds=0.5)
    assert second.get("/report", payment).status_code == 409
    asyncio.run(second.seller.follow())
    wait_for(lambda: world.balance(SHOP.address) == before + 1000, 30, "the resent transaction")
    response = second.get("/report", payment)
    assert response.status_code == 200, response.text
    assert settlement(response).success
    assert world.balance(SHOP.address) == before + 1000


def test_disconnected_client_gets_its_response_later(world: World, url: str) -> None:
    selling = Selling(world, url)
    payment, before = selling.bought(BUYER, "/report"), world.balance(SHOP.address)

    async def leaving() -> httpx.Response:
        async with selling.client() as client:
            begun, left = threading.Event(), threading.Event()

            def hold() -> None:
                begun.set()
                assert left.wait(60)

            selling.during = hold
            going = asyncio.create_task(client.get("/report", headers=signed(payment)))
            assert await asyncio.to_thread(begun.wait, 30)
            going.cancel()
            with pytest.raises(asyncio.CancelledError):
                await going
            left.set()
            end = time.monotonic() + 60
            while (response := await client.get("/report", headers=signed(payment))).status_code != 200:
                assert response.status_code == 409
                assert time.monotonic() < end, "there never was an answer"
                await asyncio.sleep(0.02)
            return response

    assert asyncio.run(leaving()).json() == {"path": "/report", "run": 1}
    assert selling.runs == {"/report": 1}
    assert world.balance(SHOP.address) == before + 1000
