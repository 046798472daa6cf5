"""Wallets whose code does not end: the node counts as usable, and the payments of others are accepted."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from foreseal.client.errors import TimedOut
from foreseal.payments.api.checkout.limits import ShopperLimits
from foreseal.payments.api.roles import Role
from foreseal.payments.chain import BreakerState
from payments.api.service_harness import Batches, ServiceHarness
from payments.api.signed_payments import payment
from payments.contracts.wallet_code import endless_wallet
from payments.people import BATCH_CAPTURE, BUYERS
from payments.real.node import make_node_chain

CHECKOUT = """
[checkout]
public_url = "https://pay.shop.example"
merchant_name = "Book shop"
"""
WALLET, HONEST, OTHER = BUYERS
ENTRANCES = ["payment", "stored", "bulk", "signature", "auto_capture", "capture", "checkout"]


class SlowWallet(Batches):
    """The node's client, whose calls of one wallet's code do not return before the end of the test."""

    def __init__(self, node: Any) -> None:
        super().__init__(node)
        self.begun = threading.Semaphore(0)
        self.ended = threading.Event()
        self.slow = False
        self.calls = 0

    def request(self, method: str, *params: Any) -> Any:
        self._wait([(method, params)])
        return super().request(method, *params)

    def batch(self, requests: Any, *, return_errors: bool = False) -> list[Any]:
        self._wait([(each.method, each.params) for each in requests])
        return super().batch(requests, return_errors=return_errors)

    def _wait(self, requests: list[tuple[str, Any]]) -> None:
        if self.slow and any(_runs_wallet(method, params) for method, params in requests):
            self.calls += 1
            self.begun.release()
            assert self.ended.wait(60)
            raise TimedOut("no response within 1 s")


def _runs_wallet(method: str, params: Any) -> bool:
    if method == "eth_call":
        return bool(params[0]["to"] == WALLET.address or "gas" in params[0])
    return method == "eth_estimateGas" and WALLET.address[2:].lower() in params[0]["data"]


@pytest.fixture
def service(url: str, tmp_path: Path) -> Iterator[ServiceHarness]:
    """Provide a service in whose chain one buyer is a wallet with code, whose calls may be slow."""
    one = ServiceHarness(url, tmp_path, CHECKOUT)
    one.chain.wallets[WALLET.address.lower()] = WALLET.address.lower()
    one.batches = SlowWallet(one.node)
    one.restart()
    yield one
    one.batches.ended.set()
    one.close()


def place(service: ServiceHarness, id: str) -> str:
    """Create an order without a payer. Return its client secret."""
    body = {"id": id, "amount": "500", "auto_capture": True}
    return urlsplit(service.made("/v1/orders", body, role=Role.CASHIER)["checkout_url"]).fragment


class Entrance:
    """A request that pays, prepared before the wallet is slow."""

    def __init__(self, service: ServiceHarness, kind: str, buyer: Any, id: str) -> None:
        self._service, self._more, self.body = service, {}, None
        self.is_bulk = kind == "bulk"
        match kind:
            case "payment" | "stored":
                self.path, self.body = "/v1/payments", payment(service, id, buyer=buyer, capture=kind == "payment")
            case "bulk":
                items = [payment(service, id, buyer=buyer), payment(service, f"{id} honest", buyer=OTHER)]
                self.path, self.body = "/v1/payments/batch", {"payments": items}
            case "signature" | "auto_capture":
                service.draft(id, buyer=buyer, auto_capture=kind == "auto_capture")
                self.path, self.body = f"/v1/orders/{id}/signature", {"signature": service.signature(id, buyer)}
            case "capture":
                self.path = f"/v1/orders/{service.stored(id, buyer=buyer)}/capture"
            case "checkout":
                secret = place(service, id)
                self.path = f"/v1/checkout/{id}/authorization"
                self.body = {"signature": service.signature(id, buyer), "payer": buyer.address}
                self._more = {"role": None, "headers": {"foreseal-client-secret": secret, "idempotency-key": ""}}

    def pay(self) -> httpx.Response:
        return self._service.request("POST", self.path, self.body, **self._more)

    def outcome(self, response: httpx.Response) -> tuple[int, str | None]:
        """Return status and error code of the payment."""
        if self.is_bulk:
            assert response.status_code == 200, response.text
            first, second = response.json()["items"]
            assert second["status"] == 201, "another payer's payment of the same request is stored"
            error = first["error"]
            return first["status"], error and error["code"]
        return response.status_code, response.json().get("error", {}).get("code")


@pytest.mark.parametrize("kind", ENTRANCES)
def test_slow_wallet_delays_no_other_payment(service: ServiceHarness, kind: str) -> None:
    hostile = [Entrance(service, kind, WALLET, f"w{number}") for number in range(2)]
    honest = [Entrance(service, each, HONEST, f"h{number}") for number, each in enumerate(ENTRANCES)]
    service.batches.slow = True
    with ThreadPoolExecutor(1) as pool:
        waiting: Future[httpx.Response] = pool.submit(hostile[0].pay)
        assert service.batches.begun.acquire(timeout=30)
        for each in honest:
            status, code = each.outcome(each.pay())
            assert (status in (200, 201), code) == (True, None)
        assert not waiting.done()
        service.batches.ended.set()
        assert hostile[0].outcome(waiting.result(timeout=30)) == (422, "code_timeout")
    assert service.batches.calls == 1
    # The wallet is not called again at once.
    assert hostile[1].outcome(hostile[1].pay()) == (422, "code_timeout")
    assert service.batches.calls == 1
    assert (service.backend.breaker.state, service.backend.breaker.openings) == (BreakerState.CLOSED, 0)
    service.settle()
    assert service.get("/v1/balance")["faults"] == []


def test_group_with_a_slow_wallet_stores_the_others_first(service: ServiceHarness) -> None:
    """The payments arrive together, so that the queue processes them as one group."""
    queue = service.process.payments
    entered, released = threading.Event(), threading.Event()
    process = queue.process

    def held(group: Any) -> None:
        if not entered.is_set():
            entered.set()
            assert released.wait(30)
        process(group)

    queue.process = held  # type: ignore[method-assign]
    payers = [HONEST, WALLET, OTHER, HONEST]
    requests = [Entrance(service, "payment", buyer, f"p{number}") for number, buyer in enumerate(payers)]
    first = Entrance(service, "payment", HONEST, "first")
    service.batches.slow = True
    with ThreadPoolExecutor(5) as pool:
        began = pool.submit(first.pay)
        assert entered.wait(30)
        submitted = [pool.submit(each.pay) for each in requests]
        while sum(queue._sizes.values()) < 5:
            threading.Event().wait(0.005)
        released.set()
        assert [each.result(30).status_code for each in (began, submitted[0], submitted[2], submitted[3])] == [201] * 4
        assert not submitted[1].done()
        service.batches.ended.set()
        assert submitted[1].result(30).status_code == 422
    assert service.request("GET", "/v1/orders/p1").status_code == 404
    assert set(queue._sizes.values()) == {0}


def test_stop_waits_for_wallets(service: ServiceHarness) -> None:
    hostile = Entrance(service, "payment", WALLET, "w")
    service.batches.slow = True
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(hostile.pay)
        assert service.batches.begun.acquire(timeout=30)
        stopping = pool.submit(service.process.payments.stop)
        service.batches.ended.set()
        assert waiting.result(30).status_code == 422
        stopping.result(30)


def test_wallet_pays_by_every_entrance(service: ServiceHarness) -> None:
    for number, kind in enumerate(ENTRANCES):
        entrance = Entrance(service, kind, WALLET, f"w{number}")
        status, code = entrance.outcome(entrance.pay())
        assert (status in (200, 201), code) == (True, None)
    service.settle()
    states = [service.state(f"w{number}") for number in range(len(ENTRANCES))]
    unused = {ENTRANCES.index("stored"), ENTRANCES.index("signature")}
    assert states == [
        "Stored, unused / idle" if number in unused else "Used, captured / final" for number in range(len(ENTRANCES))
    ]


def test_slow_wallet_does_not_hold_the_worker(service: ServiceHarness) -> None:
    balances: dict[str, int] = {}
    service.chain.change(lambda state: balances.update(state.balances))
    service.chain.change(lambda state: state.balances.update({WALLET.address.lower(): 0}))
    waiting = Entrance(service, "auto_capture", WALLET, "w")
    assert waiting.pay().json()["capture_error"]["reason"] == "insufficient_balance"
    service.chain.change(lambda state: state.balances.update(balances))
    assert Entrance(service, "auto_capture", HONEST, "h").pay().status_code == 200
    service.chain.mine(1)
    worker = service.process.worker
    with ThreadPoolExecutor(1) as captures:
        worker._captures = captures
        service.batches.slow = True
        worker.run_pass()
        assert service.batches.begun.acquire(timeout=30)
        worker.run_pass()
        assert service.state("h") == "Used, captured / provisional"
        service.batches.ended.set()
    assert service.state("w") == "Stored, unused / idle"
    assert "did not end within 1 s" in service.get("/v1/orders/w")["order"]["last_error"]
    assert service.backend.breaker.openings == 0


@pytest.mark.sqlite_only
def test_shopper_has_a_share_of_the_wallets(service: ServiceHarness) -> None:
    count = ShopperLimits.MAX_SIGNATURES_OF_WALLET
    hostile = [Entrance(service, "checkout", WALLET, f"w{number}") for number in range(count + 1)]
    honest = Entrance(service, "checkout", HONEST, "h")
    service.batches.slow = True
    with ThreadPoolExecutor(count) as pool:
        waiting = [pool.submit(each.pay) for each in hostile[:count]]
        for _ in range(count):
            assert service.batches.begun.acquire(timeout=30)
        assert hostile[-1].outcome(hostile[-1].pay()) == (429, "too_many_requests")
        assert honest.pay().status_code == 200
        service.batches.ended.set()
        assert {each.result(30).status_code for each in waiting} == {422}


@pytest.mark.sqlite_only
@pytest.mark.parametrize("batch_capture", [False, True], ids=["alone", "batch"])
def test_wallet_that_uses_all_gas_is_rejected_on_a_node(url: str, tmp_path: Path, batch_capture: bool) -> None:
    section = f'\nbatch_capture = "{BATCH_CAPTURE}"\n' if batch_capture else ""
    service = ServiceHarness(url, tmp_path, section + CHECKOUT, chains=make_node_chain)
    try:
        stored = Entrance(service, "capture", WALLET, "stored")
        hostile = [Entrance(service, each, WALLET, f"w {each}") for each in ENTRANCES if each != "capture"]
        service.chain.rpc("anvil_setCode", WALLET.address, "0x" + endless_wallet().hex())
        for each in hostile:
            assert each.outcome(each.pay()) == (422, "invalid_signature")
        assert stored.outcome(stored.pay()) == (422, "invalid_signature")
        for number, kind in enumerate(ENTRANCES):
            entrance = Entrance(service, kind, HONEST, f"h{number}")
            status, code = entrance.outcome(entrance.pay())
            assert (status in (200, 201), code) == (True, None)
        assert (service.backend.breaker.state, service.backend.breaker.openings) == (BreakerState.CLOSED, 0)
    finally:
        service.close()
        service.chain.close()
