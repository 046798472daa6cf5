"""Health of the work: a database without writes, tasks that hang, and an account that waits for one transaction."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from foreseal.client.errors import TimedOut
from foreseal.payments.ledger import Finality
from foreseal.payments.workers.background_check import BackgroundCheck
from foreseal.payments.workers.health_report import MAX_TASK_AGE
from foreseal.payments.workers.process_registry import WorkShare
from foreseal.payments.workers.write_check import MAX_WRITE_AGE, WriteCheck
from payments.api.monitored import MonitoredService
from payments.api.service_harness import ServiceHarness, conforms
from payments.batching import lose_gas
from payments.shop import SHOP
from payments.write_lock import limit_writes, without_writes

# Seconds that a test waits for a thread.
SECONDS = 60.0
# Seconds that a write waits for a lock: the tests need no second of it.
SHORT = 0.05
WAITING = f"foreseal_pay_oldest_transaction_blocks{{payee={SHOP.address}}}"


@pytest.fixture
def monitored(service: ServiceHarness) -> Iterator[MonitoredService]:
    one = MonitoredService(service)
    limit_writes(one.service.monitor._writes, SHORT)
    yield one
    one.close()


def codes(health: Any) -> list[str]:
    return [reason["code"] for reason in health["reasons"]]


def metrics(monitored: MonitoredService) -> dict[str, float]:
    """Return the samples of the new metrics, by name with labels."""
    values = {}
    for line in monitored.get("/metrics").text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            values[name.replace('"', "")] = float(value)
    return values


class Blocked:
    """A call that blocks until `release`."""

    def __init__(self) -> None:
        self.entered, self.released = threading.Event(), threading.Event()

    def __call__(self, *_: Any) -> None:
        self.entered.set()
        assert self.released.wait(SECONDS)


@contextlib.contextmanager
def blocking(act: Callable[[], object], blocked: Blocked) -> Iterator[None]:
    """Run `act` in a thread that blocks, and release it at the end of the context."""
    thread = threading.Thread(target=act)
    thread.start()
    try:
        assert blocked.entered.wait(SECONDS)
        yield
    finally:
        blocked.released.set()
        thread.join()


def test_database_without_writes_is_unhealthy_until_they_succeed(
    service: ServiceHarness, monitored: MonitoredService
) -> None:
    assert codes(monitored.health()) == []
    assert metrics(monitored)["foreseal_pay_database_writable"] == 1
    with without_writes(service.url):
        monitored.now += MAX_WRITE_AGE + 1
        health = monitored.health()
        assert (health["status"], codes(health)) == ("unhealthy", ["database_not_writable"])
        # Reads succeed, which is all that the health showed before.
        assert health["database"]["reachable"] is True
        response = monitored.get("/healthz")
        assert response.status_code == 503
        conforms(service.document, "GET", "/healthz", response)
        assert metrics(monitored)["foreseal_pay_database_writable"] == 0
    assert codes(monitored.health()) == []
    assert metrics(monitored)["foreseal_pay_database_writable"] == 1


def test_write_check_leaves_no_row_and_counts_as_no_process(
    service: ServiceHarness, monitored: MonitoredService
) -> None:
    monitored.service._worker.run_pass()
    assert [monitored.health()["processes"] for _ in range(3)] == [1, 1, 1]


def test_write_check_needs_no_connection_of_the_pool(monitored: MonitoredService) -> None:
    engine = monitored.backend.database.engine
    with contextlib.ExitStack() as held:
        for _ in range(15):
            held.enter_context(engine.connect())
        monitored.now += MAX_WRITE_AGE + 1
        monitored.service.monitor._write.run()
        assert monitored.service.monitor.is_writable()


@pytest.mark.sqlite_only
def test_commits_of_the_process_prove_that_writes_succeed(service: ServiceHarness, monitored: MonitoredService) -> None:
    database, now = monitored.backend.database, 0.0
    check = WriteCheck(database, lambda: now, SHORT)
    with database.transaction():
        pass
    with without_writes(service.url):
        now += MAX_WRITE_AGE + 1
        check()
        assert check.is_writable
        now += MAX_WRITE_AGE + 1
        check()
        assert not check.is_writable


def test_health_does_not_wait_for_a_write(service: ServiceHarness, monitored: MonitoredService) -> None:
    monitored.health()
    blocked, check = Blocked(), monitored.service.monitor._writes
    check._write = blocked  # type: ignore[method-assign]
    check._commits = monitored.backend.database.commits
    with blocking(monitored.service.monitor._write.run, blocked):
        monitored.now += MAX_WRITE_AGE + 1
        assert codes(monitored.get("/healthz").json()) == ["database_not_writable"]
    assert codes(monitored.get("/healthz").json()) == []


def test_crash_of_the_write_check_is_shown_and_ends_nothing(
    monitored: MonitoredService, caplog: pytest.LogCaptureFixture
) -> None:
    check, calls = monitored.service.monitor._writes, threading.Semaphore(0)

    def crash() -> None:
        calls.release()
        raise KeyError("a defect")

    check._write = crash  # type: ignore[method-assign]
    check._commits = monitored.backend.database.commits
    running = BackgroundCheck("write check", check, 0.001, 1.0, lambda: monitored.now)
    # It never succeeds, so there is no first result to wait for.
    running.start(0.0)
    try:
        assert all(calls.acquire(timeout=SECONDS) for _ in range(3))
    finally:
        running.stop()
    monitored.now += MAX_WRITE_AGE + 1
    assert "database_not_writable" in codes(monitored.service.monitor.health())
    assert "unexpected error in write check" in caplog.messages


def test_worker_that_hangs_in_a_call_is_unhealthy(service: ServiceHarness, monitored: MonitoredService) -> None:
    worker, blocked = monitored.service._worker, Blocked()
    worker.run_pass()
    assert codes(monitored.health()) == []
    monitored.service.monitor.run_checks()
    service.node.hook = blocked
    with blocking(worker.run_pass, blocked):
        monitored.now += MAX_TASK_AGE + 6
        health = monitored.get("/healthz").json()
        assert health["status"] == "unhealthy"
        assert {"worker_stalled", "watcher_stalled"} <= set(codes(health))
        samples = metrics(monitored)
        assert samples["foreseal_pay_task_age_seconds{task=worker}"] == MAX_TASK_AGE + 6
        assert samples["foreseal_pay_watcher_age_seconds{destination=default}"] == MAX_TASK_AGE + 6
        # It did not raise, so no pass failed.
        assert health["worker"]["consecutive_failures"] == 0
        service.node.hook = None
    worker.run_pass()
    monitored.service._dispatcher.progress.record()
    assert codes(monitored.health()) == []


def test_worker_that_reads_slowly_does_not_hang(service: ServiceHarness, monitored: MonitoredService) -> None:
    service.chain.mine(30)

    def slow(method: str) -> None:
        monitored.now += MAX_TASK_AGE / 2

    service.node.hook = slow
    began = monitored.now
    monitored.service._worker.run_pass()
    assert monitored.now - began > MAX_TASK_AGE
    assert monitored.service._worker.state.step_age < MAX_TASK_AGE


def test_advance_that_hangs_is_unhealthy_although_passes_succeed(
    service: ServiceHarness, monitored: MonitoredService, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.made(f"/v1/orders/{service.stored('a')}/capture")
    worker, blocked = monitored.service._worker, Blocked()
    monkeypatch.setattr(worker, "_advance_row", blocked)
    with blocking(worker.run_pass, blocked):
        monitored.now += MAX_TASK_AGE + 6
        worker.run_pass()
        assert worker.state.errors == 0
        monitored.service._dispatcher.progress.record()
        health = monitored.health()
        assert (health["status"], codes(health)) == ("unhealthy", ["worker_stalled"])


def test_hanging_webhook_dispatcher_is_degraded(monitored: MonitoredService, monkeypatch: pytest.MonkeyPatch) -> None:
    dispatcher, blocked, cycled = monitored.service._dispatcher, Blocked(), threading.Event()
    record = dispatcher.progress.record

    def record_and_signal() -> None:
        record()
        cycled.set()

    monkeypatch.setattr(dispatcher.progress, "record", record_and_signal)
    dispatcher.start()
    try:
        assert cycled.wait(SECONDS)
        monkeypatch.setattr(type(dispatcher._outbox), "targets", blocked)
        assert blocked.entered.wait(SECONDS)
        monitored.now += MAX_TASK_AGE + 1
        health = monitored.health()
        assert (health["status"], codes(health)) == ("degraded", ["webhooks_stalled"])
        assert monitored.get("/healthz").status_code == 200
        assert metrics(monitored)["foreseal_pay_task_age_seconds{task=webhooks}"] == MAX_TASK_AGE + 1
        monkeypatch.undo()
        cycled.clear()
        monkeypatch.setattr(dispatcher.progress, "record", record_and_signal)
        blocked.released.set()
        assert cycled.wait(SECONDS)
        assert codes(monitored.health()) == []
    finally:
        blocked.released.set()
        dispatcher.stop()


def test_failing_watcher_is_named(service: ServiceHarness, monitored: MonitoredService) -> None:
    worker = monitored.service._worker
    worker.run_pass()

    def fail(method: str) -> None:
        if method == "eth_getLogs":
            raise TimedOut("no response within 3 s")

    service.node.hook = fail
    service.chain.mine(1)
    monitored.now += MAX_TASK_AGE + 6
    worker.run_pass()
    monitored.service._dispatcher.progress.record()
    health = monitored.health()
    assert (health["status"], codes(health)) == ("degraded", ["watcher_stalled"])
    assert "default" in health["reasons"][0]["message"]
    # Another process reads the transfers.
    worker.state.share = WorkShare(1, 2)
    assert codes(monitored.health()) == []
    assert "foreseal_pay_watcher_age_seconds{destination=default}" not in metrics(monitored)
    worker.state.share = WorkShare(0, 1)
    service.node.hook = None
    worker.run_pass()
    assert codes(monitored.health()) == []


def test_account_that_waits_for_one_transaction_is_degraded(
    service: ServiceHarness, monitored: MonitoredService
) -> None:
    for id in "ab":
        service.stored(id)
    assert codes(monitored.health()) == []
    assert metrics(monitored)[WAITING] == 0
    service.node.poor.add(SHOP.address.lower())
    service.made("/v1/orders/a/capture")
    service.made("/v1/orders/b/capture")
    # The capture was signed for the block after the latest one.
    service.chain.mine(51)
    assert (codes(monitored.health()), metrics(monitored)[WAITING]) == ([], 50)
    service.chain.mine()
    health = monitored.health()
    assert (health["status"], codes(health)) == ("degraded", ["account_blocked"])
    message = health["reasons"][0]["message"]
    assert f"{SHOP.address} with account nonce 0 (capture a) for 51 blocks" in message
    assert f"`foreseal pay account CONFIG --account {SHOP.address} --free 0`" in message
    assert monitored.get("/healthz").status_code == 200
    assert metrics(monitored)[WAITING] == 51
    service.node.poor.clear()
    service.settle()
    assert codes(monitored.health()) == []
    assert metrics(monitored)[WAITING] == 0


def test_message_of_a_blocked_account_has_the_rejection(service: ServiceHarness, monitored: MonitoredService) -> None:
    service.stored("a")
    service.node.poor.add(SHOP.address.lower())
    service.made("/v1/orders/a/capture")
    service.run_pass()
    service.chain.mine(60)
    (reason,) = monitored.health()["reasons"]
    assert "the node rejects it: eth_sendRawTransaction: insufficient funds for gas" in reason["message"]


def test_blocks_of_an_account_are_absent_while_the_node_is_not_usable(
    service: ServiceHarness, monitored: MonitoredService, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert metrics(monitored).get(WAITING) is None
    monitored.health()
    assert metrics(monitored)[WAITING] == 0
    monkeypatch.setattr(service.node, "eth_getBlockByNumber", lambda *_: None)
    monitored.health()
    assert WAITING not in metrics(monitored)


def test_included_transaction_that_is_not_final_blocks_nothing(
    service: ServiceHarness, monitored: MonitoredService
) -> None:
    service.stored("a")
    service.made("/v1/orders/a/capture")
    service.chain.mine(5)
    service.run_pass()
    assert service.order("a").step in (Finality.PROVISIONAL, Finality.CONFIRMED)
    monitored.health()
    assert metrics(monitored)[WAITING] == 0


def test_budget_of_payers_with_code_that_is_spent_is_degraded(
    service: ServiceHarness, monitored: MonitoredService
) -> None:
    assert metrics(monitored)["foreseal_pay_code_lost_gas"] == 0
    lose_gas(monitored.backend.database, service.chain.chain_id, service.chain.time)
    health = monitored.health()
    assert (health["status"], codes(health)) == ("degraded", ["gas_budget_spent"])
    assert "policy.code_lost_gas = 12000000" in health["reasons"][0]["message"]
    assert metrics(monitored)["foreseal_pay_code_lost_gas"] == 12_000_000
