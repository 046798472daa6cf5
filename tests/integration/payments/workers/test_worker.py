"""The worker: background work, its distribution between processes, and failures that must not block it."""

import logging
from typing import Any

import pytest

from foreseal.client.errors import ConnectionLost
from foreseal.payments.workers.process_registry import WorkShare
from foreseal.payments.workers.scheduler import GRACE, MAX_PAUSE, Scheduler
from foreseal.payments.workers.work_kinds import Subject
from payments.api.service_harness import LEASE, ServiceHarness
from payments.fake.contracts import PAYOUTS
from payments.shop import BUYER, SHOP


def test_inconsistent_order_does_not_block_the_others(service: ServiceHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = {}
    for id in "abc":
        made = service.made(f"/v1/orders/{service.stored(id)}/capture")
        hashes[id] = made["transactions"][0]["hashes"][0]
    service.settle()
    asked = service.batches.request
    service.made("/v1/orders/b/refunds", {"amount": "5", "id": "bad"})
    service.made("/v1/orders/a/refunds", {"amount": "5", "id": "good"})
    bad = service.get("/v1/refunds/bad")["transactions"][0]["hashes"][0]

    def request(method: str, *params: Any) -> Any:
        if params[:1] == (bad,):
            raise ConnectionLost("of this one nothing comes")
        return asked(method, *params)

    def broken(request: Any) -> Any:
        return service.batches.request(request.method, *request.params)

    monkeypatch.setattr(service.batches, "request", request)
    monkeypatch.setattr(service.batches, "_one", broken)
    service.settle()
    assert service.get("/v1/refunds/good")["refund"]["finality"] == "final"
    assert service.get("/v1/refunds/bad")["refund"]["state"] == "Broadcast"
    monkeypatch.undo()
    service.settle()
    assert service.get("/v1/refunds/bad")["refund"]["finality"] == "final"


def _cancel(service: ServiceHarness, id: str) -> None:
    """Void an order and relay its cancellation: unlike a capture, the watcher does not follow it."""
    service.stored(id)
    service.made(f"/v1/orders/{id}/void")
    service.made(f"/v1/orders/{id}/cancel", {"signature": service.cancellation(id)})


def test_one_failing_order_does_not_block_the_others(
    service: ServiceHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for id in "ab":
        _cancel(service, id)
    step = service.process.worker._advance_row

    def failing(subject: Subject, destination: Any) -> Any:
        if subject.id == "a":
            raise KeyError("nobody thought of this")
        return step(subject, destination)

    monkeypatch.setattr(service.process.worker, "_advance_row", failing)
    service.settle()
    assert "failed to advance" in caplog.text
    detail = service.get("/v1/orders/b")
    assert (detail["order"]["finality"], detail["transactions"][0]["result"]) == ("final", "included")
    assert service.get("/v1/orders/a")["transactions"][0]["result"] is None


def test_a_failed_pass_is_logged_and_retried(service: ServiceHarness, caplog: pytest.LogCaptureFixture) -> None:
    service.node.losses += [("eth_getLogs", False)]
    service.process.worker.run_pass()
    assert service.process.worker.state.errors == 1
    assert "pass failed" in caplog.text
    service.process.worker.run_pass()
    assert service.process.worker.state.errors == 0
    assert service.process.worker.state.passed == service.clock()


def test_catching_up_is_reported(service: ServiceHarness, caplog: pytest.LogCaptureFixture) -> None:
    service.run_pass()
    service.chain.mine(4_500)
    caplog.set_level(logging.INFO)
    seen = []
    worker = service.process.worker
    told = worker._read

    def read(done: int, latest: int) -> None:
        service.offset += 10
        told("default", done, latest)
        seen.append((worker.state.read, worker.state.latest, worker.state.caught_up))

    (watcher,) = worker._watchers
    watcher._progressed = read
    service.run_pass()
    assert [caught for *_, caught in seen] == [False, False, True]
    lines = [record for record in caplog.records if "catching up" in record.message]
    assert [record.behind for record in lines] == [seen[0][1] - each[0] for each in seen[:-1]]  # type: ignore[attr-defined]
    assert "caught up with transfers" in caplog.text


@pytest.mark.parametrize("method", ["eth_getLogs", "eth_getBlockByNumber"])
def test_stop_ends_a_catch_up_at_its_next_read(service: ServiceHarness, method: str) -> None:
    service.run_pass()
    service.made(f"/v1/orders/{service.stored('a')}/capture")
    service.chain.mine(6_000)
    worker, state = service.process.worker, service.process.worker.state
    passes, round_trips = (state.passes, state.failed_passes), 0

    def stop(called: str) -> None:
        nonlocal round_trips
        if state.behind and called == method:
            worker.stop()
            service.node.hook, round_trips = None, service.batches.asked

    service.node.hook = stop
    service.offset += 60
    worker.run_pass()
    read = state.read
    assert read is not None
    assert (0 < read < 6_000, state.caught_up) == (True, False)
    worker.run_pass()
    assert service.batches.asked == round_trips > 0, "the node is not read after the stop"
    assert (state.passes, state.failed_passes) == passes
    # The next start continues after the stored range.
    service.restart()
    progressed: list[int] = []
    (watcher,) = service.process.worker._watchers
    watcher._progressed = lambda done, latest: progressed.append(done)
    service.run_pass()
    assert progressed[0] > read
    assert service.state("a") == "Used, captured / final"


def test_stopped_worker_leaves_the_subjects_to_the_next_start(service: ServiceHarness) -> None:
    for id in "ab":
        _cancel(service, id)
    worker = service.process.worker
    step, advanced = worker._advance_row, []

    def advance(subject: Subject, destination: Any) -> Any:
        advanced.append(subject.id)
        worker.stop()
        return step(subject, destination)

    worker._advance_row = advance  # type: ignore[method-assign]
    service.offset += 60
    worker.run_pass()
    assert advanced == ["a"]
    service.restart()
    service.settle()
    for id in "ab":
        detail = service.get(f"/v1/orders/{id}")
        assert (detail["order"]["finality"], detail["transactions"][0]["result"]) == ("final", "included")


def test_processes_share_work_and_replace_a_dead_process(service: ServiceHarness) -> None:
    other = service.another()
    ids = [f"n{number}" for number in range(20)]
    for id in ids:
        _cancel(service, id)
    looked: dict[str, list[str]] = {"a": [], "b": []}
    for name, process in (("a", service.process), ("b", other)):
        step = process.worker._advance_row

        def noted(subject: Subject, destination: Any, name: str = name, step: Any = step) -> Any:
            looked[name].append(subject.id)
            return step(subject, destination)

        process.worker._advance_row = noted  # type: ignore[method-assign]
    service.chain.mine(100)
    for process in (service.process, other):
        process.processes.heartbeat(service.clock())
    for process in (service.process, other):
        process.worker.run_pass()
    assert sorted([*looked["a"], *looked["b"]]) == sorted(ids)
    assert 0 < len(looked["a"]) < 20
    assert service.process.worker.state.share.count == 2
    # The first one dies: after a lease the other one continues all of its work.
    service.offset += LEASE + 1
    service.chain.mine(100)
    other.worker.run_pass()
    assert other.worker.state.share == WorkShare(0, 1)
    other.processes.remove()
    assert other.processes.count(service.clock()) == 0


def test_work_share_belongs_to_one_process() -> None:
    shares = [WorkShare(rank, 3) for rank in range(3)]
    for number in range(300):
        assert sum(share.has(f"order {number}") for share in shares) == 1
    assert [share.first for share in shares] == [True, False, False]
    halves = [sum(WorkShare(0, 2).has(f"n{number}") for number in range(first, first + 20)) for first in (0, 20, 100)]
    assert all(3 < half < 17 for half in halves)


def test_unchanged_record_is_polled_at_growing_intervals() -> None:
    agenda, thing, new = Scheduler(), ("orders", "a"), ("orders", "b")
    assert agenda.due([thing], 0.0) == [thing]
    now, pauses = 0.0, []
    for _ in range(7):
        agenda.record_poll(thing, ("Stored", "broadcast"), now)
        began = now
        while not agenda.due([thing], now):
            now += 0.5
        pauses.append(now - began)
    assert pauses == [GRACE, 4.0, 8.0, 16.0, MAX_PAUSE, MAX_PAUSE, MAX_PAUSE]
    # Orders that change are checked again soon, failed ones later; new ones wait until the watcher has seen them.
    agenda.record_poll(thing, ("Captured", "final"), now)
    assert agenda.due([thing, new], now + GRACE) == [thing]
    agenda.record_poll(thing, None, now)
    assert agenda.due([thing, new], now + GRACE) == []
    assert agenda.due([new], now + 2 * GRACE) == [new]
    agenda.record_poll(thing, None, now)  # it is complete, and nothing waits for it


def test_receipts_of_a_sent_row_are_queried_at_growing_intervals() -> None:
    schedule, row = Scheduler(), ("refunds", "a")
    assert schedule.due([], 0.0) == []
    queried, now = [], 1.0
    while now < 11.0:
        due = schedule.due([row], now)
        if due:
            schedule.record_poll(row, ("Broadcast", "broadcast"), now)
        if schedule.receipts_due(now):
            queried.append(now - 1.0)
        now += 0.0625
    assert queried == [0.0, 0.125, 0.375, 0.875, 1.875, 3.875, 7.875]
    # It was included: only its own poll follows its finality, until a reorganization undoes it.
    schedule.record_poll(row, ("Complete", "provisional"), now, effected=True)
    assert schedule.receipts_due(now + GRACE - 0.1) == []
    now += GRACE
    assert schedule.due([row], now) == [row]
    schedule.record_poll(row, ("Broadcast", "unknown"), now)
    assert schedule.receipts_due(now + GRACE - 0.1) == [row]


def test_refund_payout_and_cancellation_are_visible_in_the_next_pass(service: ServiceHarness) -> None:
    service.captured("a")
    service.chain.change(lambda state: state.allowances.update({(SHOP.address.lower(), PAYOUTS): 10**9}))
    service.stored("b")
    service.made("/v1/orders/b/void")
    service.chain.mine(1)
    service.process.worker.run_pass()
    service.made("/v1/orders/a/refunds", {"amount": "5", "id": "r"})
    service.made("/v1/orders/b/cancel", {"signature": service.cancellation("b")})
    recipients = [{"recipient": BUYER.address, "amount": "5"}]
    payout = service.made("/v1/payouts", {"recipients": recipients})["payout"]
    # No time passes: the feed wakes the worker as soon as a step includes the transactions.
    service.chain.step()
    service.process.worker.run_pass()
    refund, paid = service.get("/v1/refunds/r")["refund"], service.get(f"/v1/payouts/{payout['id']}")["payout"]
    assert (refund["state"], refund["finality"]) == ("Complete", "provisional")
    assert (paid["state"], paid["finality"]) == ("Complete", "provisional")
    assert service.state("b") == "Canceled / provisional"


def test_unchanged_transactions_cost_few_requests(service: ServiceHarness) -> None:
    service.captured("a")
    service.process.worker.run_pass()
    for number in range(5):
        service.made("/v1/orders/a/refunds", {"amount": "5", "id": f"r{number}"})
    service.chain.mine(1)
    service.process.worker.run_pass()
    service.process.worker.run_pass()
    assert {service.get(f"/v1/refunds/r{number}")["refund"]["finality"] for number in range(5)} == {"provisional"}
    service.node.calls.clear()
    for _ in range(3):
        service.process.worker.run_pass()
    assert service.node.calls.count("eth_getTransactionReceipt") == 0
    assert service.node.calls.count("eth_sendRawTransaction") == 0


def test_capture_needs_few_requests_and_works_without_batches(service: ServiceHarness) -> None:
    asked = {}
    for batches in (True, False):
        service.batches.takes_batches = batches
        id = service.stored(f"batches {batches}")
        service.batches.asked = 0
        service.made(f"/v1/orders/{id}/capture".replace(" ", "%20"))
        asked[batches] = service.batches.asked
    assert asked[True] <= 5 < 10 < asked[False]
    service.settle()
    assert {service.state(f"batches%20{each}") for each in (True, False)} == {"Used, captured / final"}
