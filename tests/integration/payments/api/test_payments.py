"""Payments in one request, one by one and in bulk: outcomes, repeated keys, conflicts, and crashes."""

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from foreseal.payments.api.roles import Role
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.orders.payment_groups import PaymentGroups
from foreseal.payments.typed_data import random_nonce
from payments.api.service_harness import ServiceHarness
from payments.api.signed_payments import payment
from payments.scan import received
from payments.shop import BUYER, BUYERS, SHOP, Killed

PATH, BATCH = "/v1/payments", "/v1/payments/batch"
# Points that a payment with a capture passes.
POINTS = (
    CrashPoint.CAPTURE_CHECKED,
    CrashPoint.CAPTURE_DECIDED,
    CrashPoint.CAPTURE_STORED,
    CrashPoint.TRANSACTION_SENT,
    CrashPoint.TRANSACTION_NOTED,
)


def amounts(service: ServiceHarness) -> list[int]:
    """Return the amounts that the chain moved to the merchant."""
    return sorted(each.amount for each in received(service.chain))


def test_one_request_stores_and_captures_a_payment(service: ServiceHarness) -> None:
    made = service.made(PATH, payment(service, "a", 12_340))["order"]
    assert (made["id"], made["state"], made["tx_status"]) == ("a", "Stored, unused", "intended")
    assert (made["amount"], made["payer"], made["payee"], made["payment"]) == (
        "12340",
        BUYER.address,
        SHOP.address,
        None,
    )
    _wait(lambda: service.state("a") == "Stored, unused / broadcast")
    service.chain.step()
    service.run_pass()
    assert service.state("a") == "Used, captured / provisional"
    service.settle()
    detail = service.get("/v1/orders/a")
    assert (detail["order"]["finality"], detail["transactions"][0]["result"]) == ("final", "included")
    assert [event["type"] for event in service.get("/v1/orders/a/timeline")["items"]] == [
        "order.created",
        "order.capture_submitted",
        "order.transaction_broadcast",
        "order.captured",
        "order.finalized",
    ]
    assert amounts(service) == [12_340]


def test_payment_without_capture_is_captured_later(service: ServiceHarness) -> None:
    made = service.made(PATH, payment(service, "a", capture=False))["order"]
    assert (made["state"], made["tx_status"]) == ("Stored, unused", None)
    service.made("/v1/orders/a/capture")
    service.settle()
    assert service.state("a") == "Used, captured / final"


def test_repeated_key_returns_the_stored_response(service: ServiceHarness) -> None:
    body = payment(service, None)
    first = service.request("POST", PATH, body, key="k")
    second = service.request("POST", PATH, body, key="k")
    assert (first.status_code, second.status_code, first.content) == (201, 201, second.content)
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
    assert len(service.ids()) == 1
    service.refused(422, "idempotency_key_reused", PATH, body | {"capture": False}, key="k")
    service.settle()
    assert amounts(service) == [500]


def test_second_use_of_an_id_or_authorization_is_rejected(service: ServiceHarness) -> None:
    nonce = random_nonce()
    service.made(PATH, payment(service, "a", nonce=nonce))
    assert service.refused(409, "duplicate", PATH, payment(service, "a"))["argument"] == "id"
    service.refused(409, "duplicate", PATH, payment(service, "b", nonce=nonce))
    items = service.made(BATCH, {"payments": [payment(service, "c"), payment(service, "c"), payment(service, "d")]})[
        "items"
    ]
    assert [item["status"] for item in items] == [201, 409, 201]
    assert service.ids() == ["a", "c", "d"]


def test_batch_has_an_outcome_for_each_item_in_order(service: ServiceHarness) -> None:
    poor, now = BUYERS[2], service.pending_time()
    service.chain.change(lambda state: state.balances.update({poor.address.lower(): 1}))
    forged = payment(service, "forged") | {"payer": BUYERS[1].address}
    items = service.made(
        BATCH,
        {
            "payments": [
                payment(service, "a"),
                payment(service, "poor", buyer=poor),
                forged,
                payment(service, "late", valid_before=now + 1),
                payment(service, "old", valid_before=now - 1, capture=False),
                payment(service, "b", capture=False),
            ]
        },
    )["items"]
    assert [item["status"] for item in items] == [201, 409, 422, 409, 400, 201]
    assert [item["order"] and item["order"]["id"] for item in items] == ["a", None, None, None, None, "b"]
    errors = [item["error"] and (item["error"]["code"], item["error"]["reason"]) for item in items]
    assert errors == [
        None,
        ("not_capturable", "insufficient_balance"),
        ("invalid_signature", None),
        ("not_capturable", "too_late"),
        ("invalid_value", None),
        None,
    ]
    assert service.ids() == ["a", "b"]
    service.settle()
    assert amounts(service) == [500]


def test_batch_is_rejected_by_the_first_invalid_item(service: ServiceHarness) -> None:
    good = payment(service, "a")
    error = service.refused(400, "invalid_value", BATCH, {"payments": [good, payment(service, "b") | {"amount": 5}]})
    assert error["argument"] == "payments[1].amount"
    error = service.refused(
        400, "invalid_value", BATCH, {"payments": [good, payment(service, "b") | {"payer": SHOP.address}]}
    )
    assert (error["argument"], error["message"]) == ("payments[1].payer", "payments[1].payer: must not be the payee")
    assert service.refused(400, "invalid_value", BATCH, {"payments": []})["argument"] == "payments"
    assert service.refused(400, "invalid_value", BATCH, {"payments": [good] * 1_001})["argument"] == "payments"
    service.refused(413, "body_too_large", BATCH, b" " * (2 * 1024 * 1024 + 1))
    service.refused(413, "body_too_large", PATH, b" " * (256 * 1024 + 1))
    assert service.ids() == []


def test_batch_replays_as_a_whole(service: ServiceHarness) -> None:
    body = {"payments": [payment(service, None), payment(service, None)]}
    first = service.made(BATCH, body, key="k")
    assert service.made(BATCH, body, key="k") == first
    ids = {item["order"]["id"] for item in first["items"]}
    assert ids == set(service.ids())
    assert len(ids) == 2


@pytest.mark.parametrize("path", [PATH, BATCH])
def test_unresponsive_node_stores_nothing_and_the_key_stays_free(service: ServiceHarness, path: str) -> None:
    body = payment(service, "a") if path == PATH else {"payments": [payment(service, "a"), payment(service, "b")]}
    service.node.losses += [("eth_chainId", False)]
    service.refused(503, "node_unreachable", path, body, key="k")
    assert service.ids() == []
    service.made(path, body, key="k")
    assert "a" in service.ids()


def test_rejected_payment_is_replayed_as_an_error(service: ServiceHarness) -> None:
    body = payment(service, "poor", 10**9)
    service.refused(409, "not_capturable", PATH, body, key="k")
    service.chain.change(lambda state: state.balances.update({BUYER.address.lower(): 10**10}))
    service.refused(409, "not_capturable", PATH, body, key="k")
    service.made(PATH, body, key="k 2")


def test_concurrent_requests_store_each_payment_once(service: ServiceHarness) -> None:
    bodies = [payment(service, f"p{number}", 100 + number) for number in range(24)]

    def send(number: int) -> int:
        return service.process.request(
            "POST",
            PATH,
            json=bodies[number % 24],
            headers={
                "authorization": f"Bearer {next(iter(service.keys.values()))}",
                "idempotency-key": f"k{number % 24}",
            },
        ).status_code

    service.keys = {role: key for role, key in service.keys.items() if role.value == "cashier"} | service.keys
    with ThreadPoolExecutor(24) as pool:
        statuses = list(pool.map(send, range(48)))
    assert set(statuses) <= {201, 409}
    assert len(service.ids()) == 24
    service.settle()
    assert amounts(service) == [100 + number for number in range(24)]


def test_two_processes_with_one_key_give_one_response(service: ServiceHarness) -> None:
    other, body = service.another(), payment(service, "a")
    answers = []
    check = PaymentGroups.check

    def overtaken(self: PaymentGroups, payments: Any) -> Any:
        checked = check(self, payments)
        if self is service.backend.payments and not answers:
            answers.append(service.made(PATH, body, key="k", process=other))
        return checked

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PaymentGroups, "check", overtaken)
        assert service.made(PATH, body, key="k") == answers[0]
    service.settle()
    assert amounts(service) == [500]


def test_group_is_processed_one_by_one_after_a_conflict(service: ServiceHarness) -> None:
    other = service.another()
    bodies = [payment(service, f"p{number}") for number in range(3)]
    check, overtook = PaymentGroups.check, []

    def overtaken(self: PaymentGroups, payments: Any) -> Any:
        checked = check(self, payments)
        if self is service.backend.payments and not overtook:
            overtook.append(service.made(PATH, bodies[1], key="k1", process=other))
        return checked

    body = {"payments": bodies}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PaymentGroups, "check", overtaken)
        items = service.made(BATCH, body, key="batch")["items"]
    assert [item["status"] for item in items] == [201, 409, 201]
    assert service.ids() == ["p0", "p1", "p2"]


@pytest.mark.fake_chain
def test_payer_that_needs_too_much_gas_is_rejected(service: ServiceHarness) -> None:
    service.node.eth_estimateGas = lambda call, block: hex(12_600_000)
    error = service.refused(409, "gas_too_high", PATH, payment(service, "a", 1_000))
    assert error["message"] == (
        "the call needs 12600000 gas; the maximum is 595000: 95000 for payers without code, and payer_code_gas = 500000"
    )
    del service.node.eth_estimateGas
    assert service.request("GET", "/v1/orders/a").status_code == 404
    service.made(PATH, payment(service, "b", 1_000))
    service.settle()
    assert service.state("b") == "Used, captured / final"


@pytest.mark.fake_chain
@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
@pytest.mark.parametrize("bulk", [False, True], ids=["single", "bulk"])
def test_crash_at_any_point_captures_each_payment_once(service: ServiceHarness, point: CrashPoint, bulk: bool) -> None:
    bodies = [payment(service, f"p{number}", 100 + number) for number in range(3 if bulk else 1)]
    path, body = (BATCH, {"payments": bodies}) if bulk else (PATH, bodies[0])
    service.process.crashes.arm(point)
    with contextlib.suppress(Killed):
        service.process.request("POST", path, json=body, headers=_headers(service, "k"))
    _wait(lambda: service.process.crashes.armed is None)
    service.chain.mine()
    service.restart()
    answer = service.made(path, body, key="k")
    orders = [item["order"] for item in answer["items"]] if bulk else [answer["order"]]
    assert [order["id"] for order in orders] == [f"p{number}" for number in range(len(bodies))]
    service.settle()
    assert amounts(service) == [100 + number for number in range(len(bodies))]
    assert {service.state(order["id"]) for order in orders} == {"Used, captured / final"}
    assert service.get("/v1/balance")["faults"] == []


def _headers(service: ServiceHarness, key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {service.keys[Role.CASHIER]}", "idempotency-key": key}


def _wait(done: Callable[[], bool]) -> None:
    """Wait for the queue's thread, which sends after the response."""
    for _ in range(2_000):
        if done():
            return
        threading.Event().wait(0.005)
    raise AssertionError("the queue's thread did not come so far")
