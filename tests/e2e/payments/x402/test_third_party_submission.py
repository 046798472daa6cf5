"""Payments that another account submits while the handler runs: signed payments are visible, and anybody can send them.

The payee then has the money, so the payer gets the response. Only the transfer under the payment's own nonce counts.
"""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Any, TypeVar

import httpx
import pytest
from eth_account.signers.local import LocalAccount
from x402 import x402Client
from x402.mechanisms.evm.exact import permit2_utils
from x402.mechanisms.evm.exact.client import ExactEvmScheme
from x402.mechanisms.evm.signers import EthAccountSignerWithRPC
from x402.schemas import PaymentPayload, PaymentRequired, SettleResponse

from foreseal.payments.chain import NodeRequest, RpcNode
from foreseal.payments.ledger import Finality, GrantState, SettlementState
from foreseal.payments.transactions import FeeSettings
from foreseal.payments.x402.crash_points import PaidPoint
from foreseal.payments.x402.payment_key import granted, settled
from foreseal.payments.x402.payment_status import PaymentFate, find_status
from payments.shop import Crashes, Killed
from payments.x402.paying import demand, manual_payment, over_permit2, pay
from payments.x402.selling import ORIGIN, Selling, settlement, signed
from payments.x402.third_parties import invalidate, submit_authorization, submit_by_multicall, submit_to_proxy
from payments.x402.world import BUYERS, FACILITATOR, NETWORK, NEWCOMER, SHOP, STRANGER, World

BUYER = BUYERS[15]
T = TypeVar("T")
Submission = Callable[[World, LocalAccount, PaymentPayload], str]


@pytest.fixture
def selling(world: World, url: str) -> Selling:
    return Selling(world, url)


def with_a_permit(world: World, selling: Selling) -> PaymentPayload:
    """Return a Permit2 payment of an account that never approved Permit2."""

    world.finalize()  # the stock signer reads the nonce of its permit at `latest`
    required = PaymentRequired.model_validate_json(selling.get("/permit2").content)

    async def signing() -> PaymentPayload:
        stock = x402Client().register(NETWORK, ExactEvmScheme(EthAccountSignerWithRPC(NEWCOMER, world.url)))
        payload = await stock.create_payment_payload(required)
        assert isinstance(payload, PaymentPayload)
        return payload

    return asyncio.run(signing())


@pytest.mark.parametrize("permits", [False, True], ids=["settle", "settleWithPermit"])
def test_permit2_payment_submitted_by_a_third_account_is_paid(world: World, selling: Selling, permits: bool) -> None:
    payment = with_a_permit(world, selling) if permits else selling.bought(BUYER, "/permit2")
    submitted: list[str] = []
    selling.during = lambda: submitted.append(submit_to_proxy(world, STRANGER, payment))
    before, sent = world.balance(SHOP.address), world.sent_by(FACILITATOR.address)
    with world.rollback():
        response = selling.get("/permit2", payment)
        assert response.status_code == 200, response.text
        assert settlement(response).transaction == submitted[0]
        assert selling.get("/permit2", payment).content == response.content
        assert (world.balance(SHOP.address), world.sent_by(FACILITATOR.address)) == (before + 1000, sent)
        world.finalize()
        asyncio.run(selling.seller.follow())
        row = selling.seller.grants.find(granted(payment).key.name)
        assert row is not None
        assert (row.state, row.step) == (GrantState.SETTLED, Finality.FINAL)
        assert selling.runs == {"/permit2": 1}


def test_facilitator_without_a_settlement_reads_it_from_the_chain(world: World, sqlite: Callable[[], str]) -> None:
    facilitator, required = world.facilitator(sqlite()), over_permit2()
    payment = pay(BUYER, required)
    transaction = submit_to_proxy(world, STRANGER, payment)
    answer = facilitator.settle(payment, required)
    assert (answer.success, answer.transaction, answer.amount) == (True, transaction, "1000")
    assert not facilitator.verify(payment, required).is_valid


def test_upto_payment_settled_by_another_database_is_found(world: World, sqlite: Callable[[], str]) -> None:
    """Only the named facilitator can submit it, so this is a facilitator that lost its database."""
    required = demand(1000, "upto")
    charged, more = (required.model_copy(update={"amount": amount}) for amount in ("700", "701"))
    payment = pay(BUYER, required)
    first = world.facilitator(sqlite()).settle(payment, charged)
    assert first.success, first
    forgetful = world.facilitator(sqlite())
    assert forgetful.settle(payment, charged).transaction == first.transaction
    assert not world.facilitator(sqlite()).settle(payment, more).success


@pytest.mark.parametrize("method", ["eip3009", "permit2"])
def test_settlement_overtaken_by_a_third_account_costs_no_budget(
    world: World, sqlite: Callable[[], str], method: str
) -> None:
    """The facilitator's transaction reverts, since another account submits the payment just before it."""
    facilitator = world.facilitator(sqlite())
    required, submit = {
        "eip3009": (demand(1000), submit_authorization),
        "permit2": (over_permit2(), submit_to_proxy),
    }[method]
    payment, submitted = pay(BUYER, required), list[str]()
    settlements = facilitator.settlements
    settlements.sender.fees = FeeSettings(payer_lost_gas=1)

    def overtake(point: StrEnum) -> None:
        if point is PaidPoint.SETTLEMENT_STORED:
            submitted.append(submit(world, STRANGER, payment))

    settlements.ledger = replace(settlements.ledger, passed=overtake)
    with world.rollback():
        answer = facilitator.settle(payment, required)
        assert (answer.success, answer.transaction) == (True, submitted[0])
        row = settlements.advance(settled(payment, required).key.name)
        assert world.receipt(settlements.newest(settled(payment, required).key))["status"] == "0x0"
        assert row.state is SettlementState.SUBMITTED
        facilitator.follow()
        assert facilitator.verify(another := pay(BUYER, required), required).is_valid
        assert facilitator.status(settled(payment, required).key).transaction == submitted[0]
        settlements.ledger = replace(settlements.ledger, passed=lambda _: None)
        assert facilitator.settle(another, required).success


def test_transfer_under_another_nonce_counts_for_its_own_payment_only(world: World, selling: Selling) -> None:
    """Payer, payee and amount of both payments are the same, and one of them is never paid."""
    unpaid, paid = (selling.bought(BUYER, "/permit2") for _ in range(2))

    def act() -> None:
        invalidate(world, BUYER, unpaid)
        submit_to_proxy(world, STRANGER, paid)

    selling.during = act
    before = world.balance(SHOP.address)
    assert selling.get("/permit2", unpaid).status_code == 409
    selling.during = None
    assert selling.get("/permit2", unpaid).status_code == 409
    id = granted(unpaid).key.name
    assert selling.get(f"/x402/payments/{id}").json()["status"] == "spent"
    assert not selling.seller.facilitator._facilitator.settle(unpaid, unpaid.accepted).success
    assert selling.seller.facilitator._facilitator.settle(paid, paid.accepted).success
    assert world.balance(SHOP.address) == before + 1000


@pytest.mark.parametrize("method", ["eip3009", "permit2"])
def test_nonce_used_for_another_payee_pays_nothing(
    world: World, selling: Selling, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The payer signs two transfers of one amount with one nonce, and submits the one to itself."""
    path = {"eip3009": "/report", "permit2": "/permit2"}[method]
    required, nonce = selling.demand(path), secrets.randbits(256)
    elsewhere = required.model_copy(update={"pay_to": STRANGER.address})
    if method == "permit2":
        monkeypatch.setattr(permit2_utils, "create_permit2_nonce", lambda: str(nonce))
        payment, other = pay(BUYER, required, ORIGIN + path), pay(BUYER, elsewhere)
        selling.during = lambda: submit_to_proxy(world, STRANGER, other)
    else:
        payment, other = (
            manual_payment(BUYER, each, nonce=nonce.to_bytes(32, "big")) for each in (required, elsewhere)
        )
        selling.during = lambda: submit_authorization(world, STRANGER, other)
    before = world.balance(SHOP.address)
    for _ in range(2):
        response = selling.get(path, payment)
        assert response.status_code in (402, 409), response.text
        assert "run" not in response.json()
    assert selling.get(f"/x402/payments/{granted(payment).key.name}").json()["status"] == "spent"
    assert world.balance(SHOP.address) == before


def test_payments_inside_of_another_call_are_undecided(world: World, selling: Selling) -> None:
    """The chain does not show which nonce each transfer used, so the payer is never asked to pay again."""
    payment = selling.bought(BUYER, "/permit2")
    selling.during = lambda: submit_by_multicall(world, STRANGER, payment)
    response = selling.get("/permit2", payment)
    assert (response.status_code, response.json()["payment"]) == (409, granted(payment).key.name)
    assert selling.get(response.json()["status"]).json()["status"] == "spent"
    assert selling.get("/permit2", payment).status_code == 409
    assert selling.runs == {"/permit2": 1}


class Foreign:
    """A facilitator that reports a payment submitted by another account as failed."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.verify, self.get_supported = inner.verify, inner.get_supported

    async def settle(self, *_: Any) -> SettleResponse:
        return SettleResponse(success=False, error_reason="invalid_transaction_state", transaction="", network=NETWORK)


@pytest.mark.parametrize("method", ["eip3009", "permit2"])
def test_paid_response_is_served_despite_the_facilitators_failure(world: World, url: str, method: str) -> None:
    selling = Selling(world, url, Foreign(Selling(world, url).facilitator))
    path, submit = {"eip3009": ("/report", submit_authorization), "permit2": ("/permit2", submit_to_proxy)}[method]
    payment = selling.bought(BUYER, path)
    selling.during = lambda: submit(world, STRANGER, payment)
    first, second = (selling.get(path, payment) for _ in range(2))
    assert (first.status_code, second.status_code) == (409, 200)
    assert settlement(second).success
    assert selling.runs == {path: 1}


SUBMITTED = [("/crash", submit_authorization), ("/permit2/crash", submit_to_proxy)]
each_method = pytest.mark.parametrize(("path", "submit"), SUBMITTED, ids=["eip3009", "permit2"])


@each_method
def test_handler_that_failed_while_its_payment_landed_runs_again(
    world: World, selling: Selling, path: str, submit: Submission
) -> None:
    """Eight copies at once make one run, and the payment is charged once."""
    payment, submitted = selling.bought(BUYER, path), list[str]()
    selling.during = lambda: submitted.append(submit(world, STRANGER, payment))
    before, sent = world.balance(SHOP.address), world.sent_by(FACILITATOR.address)
    failed = selling.get(path, payment)
    assert (failed.status_code, failed.json()["error"].endswith("repeat the request")) == (409, True)
    selling.during = None
    assert selling.get(path, payment).status_code == 409
    assert selling.runs[path] == 2
    selling.crashing = False

    async def copies(client: httpx.AsyncClient) -> list[httpx.Response]:
        return await asyncio.gather(*(client.get(path, headers=signed(payment)) for _ in range(8)))

    responses = selling.run(copies)
    assert sorted({each.status_code for each in responses} | {409}) == [200, 409]
    again = selling.get(path, payment)
    assert (again.status_code, settlement(again).transaction) == (200, submitted[0])
    assert {each.content for each in responses if each.status_code == 200} == {again.content}
    assert selling.runs[path] == 3
    assert (world.balance(SHOP.address), world.sent_by(FACILITATOR.address)) == (before + 1000, sent)


@each_method
def test_handler_of_an_unpaid_payment_does_not_run_again(
    world: World, selling: Selling, path: str, submit: Submission
) -> None:
    payment = selling.bought(BUYER, path)
    assert selling.get(path, payment).status_code == 409
    selling.crashing = False
    assert selling.get(path, payment).status_code == 409
    assert selling.runs == {path: 1}
    submit(world, STRANGER, payment)
    assert selling.get(f"{path}?other", payment).status_code == 409
    assert selling.runs == {path: 1}
    assert selling.get(path, payment).status_code == 200
    assert selling.runs == {path: 2}


@each_method
def test_run_in_progress_excludes_another_one(world: World, selling: Selling, path: str, submit: Submission) -> None:
    payment, responses = selling.bought(BUYER, path), list[httpx.Response]()

    def repeat() -> None:
        submit(world, STRANGER, payment)
        selling.during = None
        responses.append(selling.get(path, payment))

    selling.during = repeat
    selling.crashing = False
    assert selling.get(path, payment).status_code == 200
    assert [each.status_code for each in responses] == [409]
    assert selling.runs == {path: 1}


@pytest.mark.parametrize("point", [PaidPoint.GRANT_STORED, PaidPoint.HANDLER_ENDED], ids=lambda point: point.name)
def test_process_that_died_while_its_payment_landed_is_replaced(world: World, url: str, point: PaidPoint) -> None:
    crashes = Crashes()
    first = Selling(world, url)
    first.seller.ledger = replace(first.seller.ledger, passed=crashes)
    payment = first.bought(BUYER, "/report")
    before = world.balance(SHOP.address)
    crashes.arm(point)
    with pytest.raises(Killed):
        first.get("/report", payment)
    submit_authorization(world, STRANGER, payment)
    assert Selling(world, url).get("/report", payment).status_code == 409, "the lease of the first process"
    second = Selling(world, url, seconds_ahead=120)
    assert second.get("/report", payment).status_code == 200
    assert second.runs == {"/report": 1}
    assert world.balance(SHOP.address) == before + 1000


class SealingNode(RpcNode):
    """A node that seals the open block just before one of its answers."""

    def __init__(self, world: World, position: int) -> None:
        super().__init__(world.client)
        self._world = world
        self._left = position

    def execute(self, request: NodeRequest[T]) -> T:
        self._left -= 1
        if self._left == 0:
            self._world.rpc("anvil_mine", "0x1")
        return super().execute(request)


@pytest.mark.parametrize("method", ["eip3009", "permit2"])
def test_transfer_is_found_while_its_block_is_sealed(world: World, method: str) -> None:
    required, submit = {
        "eip3009": (demand(1000), submit_authorization),
        "permit2": (over_permit2(), submit_to_proxy),
    }[method]
    with world.rollback():
        world.rpc("evm_setIntervalMining", 0)
        for position in range(1, 9):
            payment = pay(BUYER, required)
            transaction = submit(world, STRANGER, payment)
            status = find_status(SealingNode(world, position), granted(payment))
            assert (status.fate, status.transaction) == (PaymentFate.SETTLED, transaction), position
    world.rpc("evm_setIntervalMining", 2)
