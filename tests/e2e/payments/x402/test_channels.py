"""batch-settlement: twenty requests by vouchers on one deposit, one claim, and every rejection of a channel."""

import asyncio
import base64
from dataclasses import replace
from enum import StrEnum

import httpx
import pytest
from sqlalchemy import select
from x402.schemas import PaymentPayload

from foreseal.payments.transactions import FeeSettings
from foreseal.payments.x402.crash_points import PaidPoint
from foreseal.payments.x402.models import GrantRecord
from foreseal.payments.x402.seller.seller import PaymentRejected
from payments.contracts.wallet_code import spending_wallet, unpriced_wallet
from payments.x402.channel_buying import Recorded, buy_once, buying, manager
from payments.x402.selling import Selling, settlement, signed
from payments.x402.world import BUYERS, FACILITATOR, SHOP, World


@pytest.fixture
def selling(world: World, url: str) -> Selling:
    return Selling(world, url)


def test_twenty_vouchers_are_claimed_at_once(world: World, selling: Selling) -> None:
    before, sent = world.balance(SHOP.address), world.sent_by(FACILITATOR.address)
    answers, recorded = buying(selling, BUYERS[11], 21)
    assert [answer.status_code for answer in answers] == [200] * 21, [answer.text for answer in answers]
    assert selling.runs == {"/tick": 21}
    assert [payment.payload["type"] for payment in recorded.payments] == ["deposit", *["voucher"] * 20]
    assert settlement(answers[-1]).success
    assert world.sent_by(FACILITATOR.address) == sent + 1

    async def claiming() -> None:
        await selling.seller.offers.start()
        await manager(selling).claim_and_settle()

    asyncio.run(claiming())
    assert world.sent_by(FACILITATOR.address) == sent + 3  # the claim, and the money to its receiver
    assert world.balance(SHOP.address) == before + 2100
    stale = recorded.payments[2]
    assert selling.get("/tick", stale).json()["run"] == 3  # exactly the stored response
    assert selling.runs == {"/tick": 21}
    another_sum = stale.payload["voucher"] | {"maxClaimableAmount": "250"}
    forged = stale.model_copy(update={"payload": stale.payload | {"voucher": another_sum}})
    assert selling.get("/tick", forged).status_code == 402
    assert selling.runs == {"/tick": 21}


@pytest.mark.parametrize("code", [spending_wallet(2_000_000), unpriced_wallet()], ids=["dear", "unpriced"])
def test_deposit_of_a_wallet_that_would_cost_gas_for_nothing_is_rejected(
    world: World, selling: Selling, code: bytes
) -> None:
    with world.rollback():
        world.rpc("anvil_setCode", BUYERS[22].address, "0x" + code.hex())
        sent = world.sent_by(FACILITATOR.address)
        answers, recorded = buying(selling, BUYERS[22], 1)
        assert [payment.payload["type"] for payment in recorded.payments] == ["deposit"]
        assert answers[0].status_code == 402, answers[0].text
        assert selling.runs == {}
        assert world.sent_by(FACILITATOR.address) == sent


def test_deposits_that_revert_have_the_budget_of_their_payer(world: World, selling: Selling) -> None:
    facilitator = selling.facilitator._facilitator
    settlements, payer = facilitator.settlements, BUYERS[22]
    settlements.sender.fees = FeeSettings(payer_lost_gas=1, code_lost_gas=10**9)
    ledger = settlements.ledger

    def become(code: bytes) -> None:
        world.rpc("anvil_setCode", payer.address, "0x" + code.hex())

    def rejecting(point: StrEnum) -> None:
        if point is PaidPoint.SETTLEMENT_STORED:
            become(unpriced_wallet())

    with world.rollback():
        become(spending_wallet(1_000))
        settlements.ledger = replace(ledger, passed=rejecting)
        assert buying(selling, payer, 1)[0][0].status_code == 402
        facilitator.follow()
        settlements.ledger = ledger
        become(spending_wallet(1_000))
        sent, runs = world.sent_by(FACILITATOR.address), dict(selling.runs)
        (answer,), _ = buying(selling, payer, 1)
        assert "gas_budget_spent" in base64.b64decode(answer.headers["payment-required"]).decode()
        assert (world.sent_by(FACILITATOR.address), dict(selling.runs)) == (sent, runs)
        assert buying(selling, BUYERS[21], 1)[0][0].status_code == 200


def test_channel_whose_payer_decides_at_the_claim_is_rejected(world: World, selling: Selling) -> None:
    sent = world.sent_by(FACILITATOR.address)
    (answer,), recorded = buying(selling, BUYERS[21], 1, authorizer="0x" + "00" * 20)
    (payment,) = recorded.payments
    assert payment.payload["channelConfig"]["payerAuthorizer"] == "0x" + "00" * 20
    assert answer.status_code == 402
    assert "payer_authorizer_required" in base64.b64decode(answer.headers["payment-required"]).decode()
    assert (selling.runs, world.sent_by(FACILITATOR.address)) == ({}, sent)


def test_voucher_whose_signature_no_contract_accepts_is_rejected(selling: Selling) -> None:
    _, recorded = buying(selling, BUYERS[21], 2)
    runs = dict(selling.runs)
    payment = recorded.payments[1]
    voucher = payment.payload["voucher"] | {"signature": payment.payload["voucher"]["signature"] + "00"}
    long = payment.model_copy(update={"payload": payment.payload | {"voucher": voucher}})
    verdict = asyncio.run(_rejection(selling, long))
    assert (verdict, dict(selling.runs)) == ("invalid_voucher_signature", runs)


async def _rejection(selling: Selling, payment: PaymentPayload) -> str:
    """Return the reason with which the seller rejects a payment."""
    with pytest.raises(PaymentRejected) as error:
        await selling.seller.verify(payment, payment.accepted)
    return error.value.reason


def test_claimed_voucher_is_rejected(selling: Selling) -> None:
    _, recorded = buying(selling, BUYERS[12], 3)

    async def claiming() -> None:
        await selling.seller.offers.start()
        await manager(selling).claim_and_settle()

    asyncio.run(claiming())
    # The chain also has the state, for a shop that lost its database.
    stale = recorded.payments[1]
    verdict = asyncio.run(selling.facilitator.verify(stale, stale.accepted))
    assert not verdict.is_valid
    assert "cumulative" in verdict.invalid_reason


def test_copies_of_a_voucher_run_the_handler_once(selling: Selling) -> None:
    _, recorded = buying(selling, BUYERS[13], 1)
    stock_payment = recorded.payments[0]

    async def copies() -> list[httpx.Response]:
        async with selling.client() as client:
            return await asyncio.gather(*(client.get("/tick", headers=signed(stock_payment)) for _ in range(8)))

    answers = asyncio.run(copies())
    assert {answer.status_code for answer in answers} == {200}
    assert selling.runs == {"/tick": 1}


def test_voucher_of_a_crashed_handler_is_reusable(selling: Selling) -> None:
    answers, recorded = buying(selling, BUYERS[14], 1, "/tick/crash")
    assert answers[0].status_code == 409
    status = selling.get(answers[0].json()["status"]).json()
    assert (status["neverSettled"], status["grant"]) == (True, "Released")
    selling.crashing = False
    again = selling.get("/tick/crash", recorded.payments[0])
    assert again.status_code == 200, again.text
    assert selling.runs == {"/tick/crash": 2}
    assert selling.get("/tick/crash", recorded.payments[0]).content == again.content
    assert selling.runs == {"/tick/crash": 2}


def expire_reservation(selling: Selling) -> None:
    """Let the channel's reservation end, as it does once a handler runs longer than the price's seconds."""
    [channel] = selling.seller.channels.list()
    assert channel.pending_request is not None
    channel.pending_request.expires_at = 0
    selling.seller.channels.update_channel(channel.channel_id, lambda _: channel)


def grant_id(selling: Selling) -> str:
    with selling.seller.ledger.database.reading() as tx:
        return str(tx.execute(select(GrantRecord.id)).scalar_one())


def reservation_end(selling: Selling) -> int:
    """Return the end of the only channel's reservation in milliseconds."""
    [channel] = selling.seller.channels.list()
    assert channel.pending_request is not None
    return channel.pending_request.expires_at


@pytest.mark.parametrize("path", ["/tick", "/tick/sync"])
def test_handler_longer_than_its_seconds_runs_once(world: World, url: str, path: str) -> None:
    first, second = Selling(world, url), Selling(world, url)
    recorded = Recorded(first.app)
    copies: list[httpx.Response] = []

    def outlive() -> None:
        expire_reservation(first)
        status = second.get(f"/x402/payments/{grant_id(first)}").json()
        assert (status["neverSettled"], status["status"], status["grant"]) == (False, "open", "Held")
        copies.append(second.get(path, recorded.payments[-1]))

    first.during = outlive
    response = asyncio.run(buy_once(recorded, BUYERS[20], path))
    assert (response.status_code, response.json()["run"]) == (200, 1)
    assert [copy.status_code for copy in copies] == [409]
    assert second.get(path, recorded.payments[0]).content == response.content
    assert first.runs + second.runs == {path: 1}
    [channel] = first.seller.channels.list()
    assert channel.charged_cumulative_amount == "100"


def test_heartbeat_extends_lease_and_reservation(selling: Selling) -> None:
    passed = 0
    clock = selling.seller.ledger.clock
    selling.seller.ledger = selling.seller.grants.ledger = replace(
        selling.seller.ledger, clock=lambda: clock() + passed
    )

    def outlive() -> None:
        nonlocal passed
        for _ in range(8):  # each less than the lease, together far more
            expire_reservation(selling)
            passed += 45
            selling.seller.heartbeats.beat()
            assert reservation_end(selling) > 0
            status = selling.get(f"/x402/payments/{grant_id(selling)}").json()
            assert (status["grant"], status["neverSettled"]) == ("Held", False)

    selling.during = outlive
    answers, _ = buying(selling, BUYERS[20], 1)
    assert answers[0].status_code == 200
    assert selling.runs == {"/tick": 1}


def test_run_that_lost_its_lease_changes_nothing(world: World, url: str) -> None:
    """The process of the first run hangs: its heartbeats stop, and another process serves the payment."""
    first, second = Selling(world, url), Selling(world, url, seconds_ahead=120)
    recorded = Recorded(first.app)
    served: list[httpx.Response] = []

    def hang() -> None:
        expire_reservation(first)
        status = second.get(f"/x402/payments/{grant_id(first)}").json()
        assert (status["neverSettled"], status["status"]) == (True, "unsettled")
        served.append(second.get("/tick", recorded.payments[-1]))

    first.during = hang
    late = asyncio.run(buy_once(recorded, BUYERS[20], "/tick"))
    assert served[0].status_code == 200
    assert (late.status_code, late.headers["retry-after"]) == (503, "1")
    first.during = None
    assert first.get("/tick", recorded.payments[0]).content == served[0].content
    assert (first.runs, second.runs) == ({"/tick": 1}, {"/tick": 1})
    [channel] = first.seller.channels.list()
    assert channel.charged_cumulative_amount == "100"


def test_remaining_channel_funds_are_refunded(world: World, selling: Selling) -> None:
    buyer = BUYERS[15]
    funds, before = world.balance(buyer.address), world.balance(SHOP.address)
    buying(selling, buyer, 3)
    assert world.balance(buyer.address) < funds - 300

    async def refunding() -> None:
        await selling.seller.offers.start()
        assert await manager(selling).refund()

    asyncio.run(refunding())
    assert world.balance(buyer.address) == funds - 300
    asyncio.run(asyncio.wait_for(manager(selling).settle(), 20))
    assert world.balance(SHOP.address) == before + 300
