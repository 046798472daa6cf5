"""The seller's middleware on a real node: buyers' responses, and the number of handler runs and transfers."""

import asyncio
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request

from foreseal.payments.x402.payment_key import granted
from foreseal.payments.x402.seller.middleware import PaidRoutes
from payments.x402.paying import pay, stock_client
from payments.x402.selling import ORIGIN, Selling, requirements_of, settlement, signed
from payments.x402.world import BUYERS, FACILITATOR, SHOP, STRANGER, World


@pytest.fixture
def selling(world: World, url: str) -> Selling:
    return Selling(world, url)


def bought(selling: Selling, path: str) -> tuple[httpx.Response, int]:
    """Return the stock client's response."""

    async def buying() -> httpx.Response:
        async with selling.paying(stock_client(BUYERS[6])) as client:
            return await client.get(path)

    return asyncio.run(buying())


def test_free_path_needs_no_payment(selling: Selling) -> None:
    assert selling.get("/free").json() == {"path": "/free", "run": 1}
    assert selling.get("/none").status_code == 404


def test_request_without_a_payment_gets_402(selling: Selling) -> None:
    response = selling.get("/report")
    assert response.headers["cache-control"] == "no-store"
    wanted = requirements_of(response)
    assert (wanted.scheme, wanted.amount, wanted.pay_to) == ("exact", "1000", SHOP.address)
    assert response.json()["resource"]["url"] == f"{ORIGIN}/report"
    assert selling.get("/report", method="HEAD").status_code == 402
    assert not selling.runs


@pytest.mark.parametrize(("path", "price"), [("/report", 1000), ("/permit2", 1000), ("/upto/300", 300)])
def test_standard_client_pays_and_gets_the_resource(world: World, selling: Selling, path: str, price: int) -> None:
    before = world.balance(SHOP.address)
    response = bought(selling, path)
    assert response.json() == {"path": path, "run": 1}
    assert response.headers["cache-control"] == "private"
    said = settlement(response)
    assert said.success
    assert said.payer == BUYERS[6].address
    assert world.receipt(said.transaction)["status"] == "0x1"
    assert world.balance(SHOP.address) == before + price


def test_handler_that_charges_zero_moves_no_money(world: World, selling: Selling) -> None:
    before, sent = world.balance(SHOP.address), world.sent_by(FACILITATOR.address)
    payment = selling.bought(BUYERS[6], "/upto/0")
    response = selling.get("/upto/0", payment)
    assert response.status_code == 200
    assert settlement(response).transaction == ""
    assert selling.get("/upto/0", payment).content == response.content
    assert selling.runs == {"/upto/0": 1}
    assert (world.balance(SHOP.address), world.sent_by(FACILITATOR.address)) == (before, sent)


def test_a_handler_cannot_charge_more_than_the_payer_allowed(world: World, selling: Selling) -> None:
    before = world.balance(SHOP.address)
    response = selling.get("/upto/1001", selling.bought(BUYERS[6], "/upto/1001"))
    assert response.status_code == 409
    assert world.balance(SHOP.address) == before


def test_copy_of_a_payment_gets_the_stored_response(world: World, selling: Selling) -> None:
    payment, before = selling.bought(BUYERS[7], "/report"), world.balance(SHOP.address)
    first, second = selling.get("/report", payment), selling.get("/report", payment)
    assert (second.status_code, second.content) == (200, first.content)
    assert settlement(second) == settlement(first)
    assert selling.runs == {"/report": 1}
    assert world.balance(SHOP.address) == before + 1000


def test_payment_is_valid_only_for_its_request(world: World, selling: Selling) -> None:
    payment, before = selling.bought(BUYERS[7], "/report"), world.balance(SHOP.address)
    assert selling.get("/other", payment).json()["error"] == "payment_is_for_another_resource"
    unnamed = payment.model_copy(update={"resource": None})
    assert selling.get("/report", unnamed).status_code == 200
    assert selling.get("/other", unnamed).json()["error"] == "payment_is_for_another_resource"
    assert selling.get("/report", unnamed, params={"page": "2"}).json()["error"] == "payment_is_for_another_resource"
    posted = pay(BUYERS[7], selling.demand("/make", "POST"))
    assert selling.get("/make", posted, method="POST", content=b"one").status_code == 200
    assert selling.get("/make", posted, method="POST", content=b"two").status_code == 402
    assert selling.get("/make", posted, method="POST", content=b"one").json()["run"] == 1
    assert world.balance(SHOP.address) == before + 2000


def test_error_response_is_not_charged(world: World, selling: Selling) -> None:
    payment, before = selling.bought(BUYERS[7], "/error"), world.balance(SHOP.address)
    answers = [selling.get("/error", payment) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert "payment-response" not in answers[0].headers
    assert selling.runs == {"/error": 1}
    assert world.balance(SHOP.address) == before


def test_after_a_crash_the_payer_gets_the_status_url(world: World, selling: Selling) -> None:
    payment, before = selling.bought(BUYERS[8], "/crash"), world.balance(SHOP.address)
    for _ in range(2):
        response = selling.get("/crash", payment)
        assert response.status_code == 409
        status = selling.get(response.json()["status"]).json()
        assert (status["status"], status["final"], status["neverSettled"]) == ("open", False, False)
    assert selling.runs == {"/crash": 1}
    with world.rollback():
        world.finalize(3600)
        status = selling.get(response.json()["status"]).json()
        assert (status["status"], status["final"], status["neverSettled"]) == ("unsettled", True, True)
        assert selling.get(response.json()["status"]).json()["grant"] == "Released"
        assert selling.get("/crash", payment).json()["error"] == "payment_expired"
    assert selling.runs == {"/crash": 1}
    assert world.balance(SHOP.address) == before


def test_grant_is_not_released_while_its_handler_runs(world: World, url: str) -> None:
    """The payment ends meanwhile, and a final block proves that it can never be settled."""
    first, second = Selling(world, url), Selling(world, url)
    payment, before = first.bought(BUYERS[8], "/report"), world.balance(SHOP.address)
    clock = first.seller.ledger.clock()
    for each in (first, second):  # the lease has not ended: only the chain's time passes
        each.seller.ledger = each.seller.grants.ledger = replace(each.seller.ledger, clock=lambda: clock)
    grants: list[str] = []

    def outlive() -> None:
        world.finalize(3600)
        url = f"/x402/payments/{granted(payment).key.name}"
        for _ in range(2):
            status = second.get(url).json()
            assert (status["status"], status["neverSettled"]) == ("unsettled", True)
            grants.append(status["grant"])

    first.during = outlive
    with world.rollback():
        assert first.get("/report", payment).status_code == 402
        assert grants == ["Held", "Held"]
        assert second.get("/report", payment).status_code == 402
    assert first.runs + second.runs == {"/report": 1}
    assert world.balance(SHOP.address) == before


def test_response_of_a_stopped_process_is_settled_by_another(world: World, url: str) -> None:
    class Gone:
        """The process ends just before it settles."""

        def __init__(self, inner: Any) -> None:
            self.inner = inner
            self.verify, self.get_supported = inner.verify, inner.get_supported

        async def settle(self, *_: object) -> object:
            raise asyncio.CancelledError

    first = Selling(world, url)
    payment, before = first.bought(BUYERS[8], "/report"), world.balance(SHOP.address)
    ended = Selling(world, url, Gone(first.facilitator))
    with pytest.raises(asyncio.CancelledError):
        ended.get("/report", payment)
    second = Selling(world, url)
    assert second.get("/report", payment).status_code == 409  # the lease of the first is not over
    later = Selling(world, url, seconds_ahead=120)
    response = later.get("/report", payment)
    assert response.json() == {"path": "/report", "run": 1}
    assert settlement(response).success
    assert (ended.runs["/report"], later.runs["/report"]) == (1, 0)
    assert world.balance(SHOP.address) == before + 1000


def test_settlements_are_followed_until_they_are_final(world: World, selling: Selling) -> None:
    payment = selling.bought(BUYERS[9], "/report")
    id = selling.get("/report", payment)
    assert id.status_code == 200
    rows = selling.seller.grants.unfinished()
    assert len(rows) == 1
    with world.rollback():
        world.finalize()
        asyncio.run(selling.seller.follow())
        assert selling.seller.grants.unfinished() == []
        status = selling.get(f"/x402/payments/{rows[0].id}").json()
        assert (status["grant"], status["status"], status["final"]) == ("Settled", "settled", True)


def test_settlement_removed_by_a_reorganization_is_sent_again(world: World, selling: Selling) -> None:
    payment = selling.bought(BUYERS[9], "/report")
    before = world.balance(SHOP.address)
    snapshot = world.rpc("evm_snapshot")
    first = settlement(selling.get("/report", payment))
    assert world.balance(SHOP.address) == before + 1000
    assert world.rpc("evm_revert", snapshot)
    assert world.balance(SHOP.address) == before
    asyncio.run(selling.seller.follow())  # notices
    asyncio.run(selling.seller.follow())  # and settles again
    assert world.balance(SHOP.address) == before + 1000
    again = selling.get("/report", payment)
    assert settlement(again).transaction == first.transaction
    assert selling.runs == {"/report": 1}


def test_fastapi_application_is_paid(world: World, selling: Selling) -> None:
    app = FastAPI()

    @app.get("/report")
    async def report(request: Request) -> dict[str, str]:
        return {"payer": request.state.payment.payer}

    app.add_middleware(PaidRoutes, seller=selling.seller)
    selling.app = app
    response = bought(selling, "/report")
    assert response.json() == {"payer": BUYERS[6].address}
    assert settlement(response).success


def test_function_of_fastapi_longer_than_its_seconds_runs_once(world: World, url: str) -> None:
    first, second = Selling(world, url), Selling(world, url)
    copies: list[httpx.Response] = []
    app = FastAPI()

    @app.get("/report")
    def report() -> dict[str, int]:
        first.runs["/report"] += 1
        copies.append(second.get("/report", payment))
        return {"run": first.runs["/report"]}

    app.add_middleware(PaidRoutes, seller=first.seller)
    first.app = app
    payment = first.bought(BUYERS[6], "/report")
    assert first.get("/report", payment).json() == {"run": 1}
    assert copies[0].status_code == 409
    assert second.get("/report", payment).json() == {"run": 1}
    assert first.runs + second.runs == {"/report": 1}


@pytest.mark.parametrize("path", ["/report/", "//report", "/./report", "/free/../report", "/Report", "/%72eport"])
def test_alternative_spellings_of_a_path_are_not_free(selling: Selling, path: str) -> None:
    assert selling.get(path).status_code in (402, 404, 307)
    assert not selling.runs


def test_handlers_run_only_for_payments_that_the_balance_covers(world: World, url: str) -> None:
    selling, payer = Selling(world, url), BUYERS[23]
    with world.rollback():
        held = world.balance(payer.address)
        world.act(payer, "transfer(address,uint256)", STRANGER.address, held - 2_500)
        payments = [selling.bought(payer, "/report") for _ in range(5)]

        async def together() -> list[httpx.Response]:
            async with selling.client() as client:
                asked = [client.get("/report", headers=signed(payment)) for payment in payments]
                return list(await asyncio.gather(*asked))

        answers = asyncio.run(together())
        served = [answer.status_code for answer in answers].count(200)
        assert served == selling.runs["/report"] == 2
        assert world.balance(payer.address) == 500
        assert selling.get("/report", selling.bought(BUYERS[22], "/report")).status_code == 200


def test_eight_concurrent_copies_run_the_handler_once(world: World, url: str) -> None:
    processes = [Selling(world, url), Selling(world, url)]
    payment, before = processes[0].bought(BUYERS[10], "/report"), world.balance(SHOP.address)
    sent = world.sent_by(FACILITATOR.address)

    async def copies() -> list[httpx.Response]:
        async with processes[0].client() as first, processes[1].client() as second:
            requests = [each.get("/report", headers=signed(payment)) for each in (first, second) * 4]
            return await asyncio.gather(*requests)

    answers = asyncio.run(copies())
    assert {answer.status_code for answer in answers} <= {200, 409}
    assert 200 in {answer.status_code for answer in answers}
    assert sum(each.runs["/report"] for each in processes) == 1
    assert world.sent_by(FACILITATOR.address) == sent + 1
    assert world.balance(SHOP.address) == before + 1000
    assert all(answer.json()["status"] for answer in answers if answer.status_code == 409)
