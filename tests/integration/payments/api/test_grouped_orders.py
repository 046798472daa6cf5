"""Three requests for one payment, from many callers at the same time: each is processed in a group."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.idempotency import StoredResponse
from foreseal.payments.api.payment_queue import PaymentJob, PaymentQueue
from foreseal.payments.api.roles import Role
from foreseal.payments.orders.captures import Captures
from payments.api.service_harness import ServiceHarness
from payments.scan import received
from payments.shop import BUYER, BUYERS

COUNT = 12


def together(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run calls at the same time. Return their results."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        barrier.wait(30)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def post(service: ServiceHarness, path: str, body: Any, key: str) -> Callable[[], Any]:
    return lambda: service.request("POST", path, body, key=key, role=Role.CASHIER)


def test_groups_of_each_request_capture_every_order_once(service: ServiceHarness) -> None:
    ids = [f"o{number:02}" for number in range(COUNT)]
    buyers = [BUYERS[number % len(BUYERS)] for number in range(COUNT)]

    def bodies(step: str) -> list[Any]:
        if step == "":
            return [
                {"id": id, "payer": buyer.address, "amount": str(100 + number), "auto_capture": number % 3 == 0}
                for number, (id, buyer) in enumerate(zip(ids, buyers, strict=True))
            ]
        if step == "/signature":
            return [{"signature": service.signature(id, buyer)} for id, buyer in zip(ids, buyers, strict=True)]
        return [{}] * COUNT

    for step in ("", "/signature", "/capture"):
        paths = ["/v1/orders" if step == "" else f"/v1/orders/{id}{step}" for id in ids]
        requests = list(zip(paths, bodies(step), strict=True))
        calls = [post(service, path, body, f"{step} {number}") for number, (path, body) in enumerate(requests)]
        first = together(calls * 2)
        for number in range(COUNT):  # a repeated key has one response, however the copies met
            assert first[number].json() == first[number + COUNT].json()
        captured = step == "/capture"
        expected = [409 if captured and number % 3 == 0 else 201 if step == "" else 200 for number in range(COUNT)]
        assert [answer.status_code for answer in first[:COUNT]] == expected, [a.text for a in first]
    service.settle()
    assert {service.state(id) for id in ids} == {"Used, captured / final"}
    assert sorted(each.amount for each in received(service.chain)) == [100 + number for number in range(COUNT)]
    assert service.get("/v1/balance")["faults"] == []


def test_group_has_an_outcome_for_each_signature(service: ServiceHarness) -> None:
    for id in ("right", "wrong", "taken", "open", "poor"):
        more = {} if id == "open" else {"payer": BUYER.address}
        amount = str(10**9 if id == "poor" else 500)
        service.made("/v1/orders", {"id": id, "amount": amount, "auto_capture": id == "poor"} | more)
    service.made("/v1/orders/taken/signature", {"signature": service.signature("taken")})
    signatures = {id: {"signature": service.signature(id)} for id in ("right", "taken", "open", "poor")}
    signatures["wrong"] = {"signature": service.signature("wrong", BUYERS[1])}
    signatures["missing"] = signatures["right"]
    answers = dict(
        zip(
            signatures,
            together([post(service, f"/v1/orders/{id}/signature", body, id) for id, body in signatures.items()]),
            strict=True,
        )
    )
    outcomes = {id: (answer.status_code, answer.json().get("error", {}).get("code")) for id, answer in answers.items()}
    assert outcomes == {
        "right": (200, None),
        "wrong": (422, "invalid_signature"),
        "taken": (200, None),
        "open": (400, "missing_field"),
        "poor": (200, None),
        "missing": (404, "not_found"),
    }
    assert answers["poor"].json()["capture_error"]["reason"] == "insufficient_balance"
    assert [service.state(id) for id in ("right", "wrong", "open")] == [
        "Stored, unused / idle",
        "Drafted / idle",
        "Drafted / idle",
    ]


def test_racing_wallets_in_one_group_have_one_winner(service: ServiceHarness) -> None:
    service.made("/v1/orders", {"id": "a", "amount": "500"})
    bodies = [{"payer": each.address, "signature": service.signature("a", each)} for each in BUYERS]
    answers = together(
        [post(service, "/v1/orders/a/signature", body, f"k{number}") for number, body in enumerate(bodies)]
    )
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * (len(BUYERS) - 1)
    winner = next(body["payer"] for body, answer in zip(bodies, answers, strict=True) if answer.status_code == 200)
    assert service.get("/v1/orders/a")["order"]["payer"] == winner


def run_queue(jobs: Sequence[tuple[str, str, int]]) -> list[list[str]]:
    """Submit jobs of a key, an order and a number of items. Return the keys of each group."""
    groups: list[list[str]] = []
    queue = PaymentQueue(None, None, lambda: None, lambda _: None)  # type: ignore[arg-type]
    done = threading.Event()

    def process(group: Sequence[PaymentJob]) -> None:
        groups.append([job.key for job in group])
        for job in group:
            job.future.set_result((StoredResponse(200, b""), False))
        if sum(map(len, groups)) == len(jobs):
            done.set()

    queue.process = process  # type: ignore[method-assign]
    for key, order, size in jobs:
        job = PaymentJob(key, "", None, [key] * size, lambda _: StoredResponse(200, b""), {order})  # type: ignore[arg-type]
        queue.submit(job)
    queue.start()
    assert done.wait(30)
    queue.stop()
    assert set(queue._sizes.values()) == {0}
    return groups


def test_requests_for_one_order_are_in_different_groups() -> None:
    jobs = [("k1", "a", 1), ("k2", "b", 1), ("k3", "a", 1), ("k4", "a", 1), ("k5", "b", 1)]
    assert run_queue(jobs) == [["k1", "k2"], ["k3", "k5"], ["k4"]]


def test_jobs_beyond_a_full_group_stay_in_the_queue() -> None:
    # Ten jobs fit in a group, and leave room that no other one fits in.
    jobs = [(f"k{number:02}", f"o{number}", 19) for number in range(23)]
    keys = [key for key, _, _ in jobs]
    assert run_queue(jobs) == [keys[:10], keys[10:20], keys[20:]]


def test_large_jobs_alternate_with_groups_of_small_ones() -> None:
    jobs = [("l1", "a", 21), ("l2", "b", 1_000), *((f"s{number:02}", f"o{number}", 20) for number in range(11))]
    small = [key for key, _, size in jobs if size == 20]
    assert run_queue(jobs) == [small[:10], ["l1"], small[10:], ["l2"]]


def test_large_jobs_leave_room_for_small_ones() -> None:
    queue = PaymentQueue(None, None, lambda: None)  # type: ignore[arg-type]

    def job(key: str, size: int) -> PaymentJob:
        return PaymentJob(key, "", None, [key] * size, lambda _: StoredResponse(200, b""))  # type: ignore[arg-type]

    for number in range(8):
        queue.submit(job(f"l{number}", 1_000))
    with pytest.raises(ApiError) as rejected:
        queue.submit(job("l8", 1_000))
    assert (rejected.value.status, rejected.value.code) == (503, "overloaded")
    for number in range(100):
        queue.submit(job(f"s{number}", 20))
    with pytest.raises(ApiError):
        queue.submit(job("s100", 1))


@pytest.mark.parametrize("where", ["check", "outcome"])
def test_unexpected_error_of_one_request_harms_no_other(service: ServiceHarness, where: str) -> None:
    ids = [service.stored(id) for id in ("first", "a", "b", "c")]
    check, submit = Captures.check, service.process.payments.submit
    entered, released, submitted = threading.Event(), threading.Event(), threading.Semaphore(0)

    def failing(self: Captures, requests: Any) -> Any:
        if not entered.is_set():
            entered.set()
            assert released.wait(30)
        if where == "check" and any(each.id == "b" for each in requests):
            raise RuntimeError("unexpected")
        checked = check(self, requests)
        return [
            RuntimeError("unexpected") if request.id == "b" else each
            for request, each in zip(requests, checked, strict=True)
        ]

    def observed(job: PaymentJob) -> None:
        submit(job)
        submitted.release()

    def capture(id: str) -> int:
        headers = {"authorization": f"Bearer {service.keys[Role.CASHIER]}", "idempotency-key": id}
        return service.process.request("POST", f"/v1/orders/{id}/capture", headers=headers).status_code

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(len(ids)) as pool:
        patch.setattr(Captures, "check", failing)
        patch.setattr(service.process.payments, "submit", observed)
        answers = [pool.submit(capture, "first")]
        assert entered.wait(30)
        answers += [pool.submit(capture, id) for id in ids[1:]]
        for _ in ids:
            assert submitted.acquire(timeout=30)
        released.set()
        assert [answer.result() for answer in answers] == [200, 200, 500, 200]
    assert service.state("b") == "Stored, unused / idle"
    service.settle()
    assert len(received(service.chain)) == 3


def test_client_that_disconnects_harms_no_other(service: ServiceHarness) -> None:
    ids = [service.stored(id) for id in ("a", "b", "c")]
    check, entered, released = Captures.check, threading.Event(), threading.Event()

    def held(self: Captures, requests: Any) -> Any:
        entered.set()
        assert released.wait(30)
        return check(self, requests)

    async def disconnect() -> list[int]:
        submitted = asyncio.Event()
        submit = service.process.payments.submit

        def observed(job: PaymentJob) -> None:
            submit(job)
            if job.key == "c":
                submitted.set()

        patch.setattr(service.process.payments, "submit", observed)
        transport = httpx.ASGITransport(service.process.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://shop.test") as client:

            async def capture(id: str) -> int:
                headers = {"authorization": f"Bearer {service.keys[Role.CASHIER]}", "idempotency-key": id}
                return (await client.post(f"/v1/orders/{id}/capture", headers=headers)).status_code

            first = asyncio.create_task(capture("a"))
            await asyncio.to_thread(entered.wait, 30)
            left, other = asyncio.create_task(capture("b")), asyncio.create_task(capture("c"))
            await submitted.wait()
            left.cancel()
            await asyncio.wait([left])
            released.set()
            return await asyncio.gather(first, other)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Captures, "check", held)
        assert asyncio.run(disconnect()) == [200, 200]
    service.settle()
    assert {service.state(id) for id in ids} == {"Used, captured / final"}
    assert len(received(service.chain)) == len(ids)


def test_conflict_with_another_process_is_decided_one_by_one(service: ServiceHarness) -> None:
    other = service.another()
    ids = [service.stored(id) for id in ("a", "b", "c")]
    check, overtook = Captures.check, []

    def overtaken(self: Captures, requests: Any) -> Any:
        checked = check(self, requests)
        if self is service.backend.destinations.default.captures and not overtook:
            overtook.append(service.made("/v1/orders/b/capture", key="other", process=other))
        return checked

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Captures, "check", overtaken)
        answers = together([post(service, f"/v1/orders/{id}/capture", {}, id) for id in ids])
    assert [answer.status_code for answer in answers] == [200, 409, 200]
    service.settle()
    assert sorted(each.amount for each in received(service.chain)) == [500, 500, 500]


@pytest.mark.parametrize("step", ["check", "send"])
def test_void_before_or_after_the_decision_excludes_capture_or_void(service: ServiceHarness, step: str) -> None:
    service.stored("a")
    run, voided = getattr(Captures, step), list[int]()

    def interrupted(self: Captures, items: Any) -> Any:
        outcomes = run(self, items) if step == "check" else None
        voided.append(service.request("POST", "/v1/orders/a/void", {}, key="void").status_code)
        return outcomes if step == "check" else run(self, items)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Captures, step, interrupted)
        captured = service.request("POST", "/v1/orders/a/capture", {}, key="capture").status_code
    assert (voided, captured) == (([200], 409) if step == "check" else ([409], 200))
    service.settle()
    assert len(received(service.chain)) == (captured == 200)
