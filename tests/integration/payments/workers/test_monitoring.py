"""Health and metrics: failures that an operator sees, without a wait for what has failed."""

import logging
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import Counter
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from foreseal.client.errors import ConnectionLost, TimedOut
from foreseal.payments.ledger import TimelineEntry, Trigger, locked
from foreseal.payments.ledger.models import OrderRecord
from foreseal.payments.ledger.timeline import TRANSFER_UNMATCHED
from foreseal.payments.metrics import SampledMetric, full_name
from foreseal.payments.transactions import DeliveryResult, DeliveryStatus, record_delivery
from foreseal.payments.workers.node_check import CAPTURE_GAS
from foreseal.payments.workers.process_registry import WorkShare
from foreseal.payments.workers.rejections import RejectionLog, rejection_reason
from payments.api.monitored import MonitoredService
from payments.api.service_harness import ServiceHarness, conforms
from payments.fake.contracts import TOKEN, call_data
from payments.people import BUYER
from payments.shop import SHOP
from repository import ROOT

POOR = "insufficient funds for gas * price + value"


@pytest.fixture
def monitored(service: ServiceHarness) -> Iterator[MonitoredService]:
    one = MonitoredService(service)
    yield one
    one.close()


def codes(health: Any) -> list[str]:
    return [reason["code"] for reason in health["reasons"]]


def payee_of(health: Any) -> Any:
    """Return the payee of the only destination."""
    (destination,) = health["destinations"]
    assert (destination["name"], destination["symbol"]) == ("default", "USDC")
    return destination["payee"]


def samples(text: str) -> dict[str, float]:
    """Return the values of all samples, by name with labels."""
    values = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sample.labels.items())
            values[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return values


def count(counter: Counter, *labels: str) -> float:
    """Return the number of events with these values of the labels."""
    totals = [sample for family in counter.collect() for sample in family.samples if sample.name.endswith("_total")]
    return sum(sample.value for sample in totals if tuple(sample.labels.values()) == labels)


def all_subclasses(base: type) -> set[type]:
    subclasses = set(base.__subclasses__())
    return subclasses.union(*map(all_subclasses, subclasses))


def fee(service: ServiceHarness) -> int:
    head = service.backend.node.head("latest")
    assert head is not None
    return 2 * head.base_fee + service.backend.node.priority_fee()


def test_health_warns_before_the_payee_runs_out_of_ether(
    service: ServiceHarness, monitored: MonitoredService, caplog: pytest.LogCaptureFixture
) -> None:
    health = monitored.health()
    assert (health["status"], payee_of(health)["status"], payee_of(health)["address"]) == ("ok", "ok", SHOP.address)
    capture = CAPTURE_GAS * fee(service)
    for balance, status, payee, left in (
        (100 * capture, "ok", "ok", 100),
        (100 * capture - 1, "degraded", "low", 99),
        (capture - 1, "unhealthy", "empty", 0),
        (0, "unhealthy", "empty", 0),
    ):
        service.node.ether[SHOP.address] = balance
        health = monitored.health()
        assert (health["status"], payee_of(health)) == (
            status,
            {"address": SHOP.address, "balance": str(balance), "captures_left": left, "status": payee},
        )
        assert codes(health) == ([] if payee == "ok" else [f"payee_{payee}"])
        response = monitored.get("/healthz")
        assert response.status_code == (503 if status == "unhealthy" else 200)
        conforms(service.document, "GET", "/healthz", response)
        values = samples(monitored.get("/metrics").text)
        assert values[f"foreseal_pay_payee_balance_wei{{payee={SHOP.address}}}"] == float(balance)
        assert values[f"foreseal_pay_payee_captures_left{{payee={SHOP.address}}}"] == left
    lines = [record for record in caplog.records if "running out of ether" in record.message]
    assert [record.captures_left for record in lines] == [99, 0]  # type: ignore[attr-defined]


def test_rejection_is_stored_counted_and_cleared_on_acceptance(
    service: ServiceHarness, monitored: MonitoredService, caplog: pytest.LogCaptureFixture
) -> None:
    service.backend.database.observer = monitored.service.metrics
    service.stored("a")
    service.node.poor.add(SHOP.address.lower())
    made = service.made("/v1/orders/a/capture")
    assert made["order"]["tx_status"] == "intended"
    assert POOR in service.get("/v1/orders/a")["order"]["last_error"]
    (line,) = [record for record in caplog.records if "rejected a transaction" in record.message]
    assert (line.levelno, line.id, POOR in line.error) == (logging.WARNING, "a", True)  # type: ignore[attr-defined]
    assert count(monitored.service.metrics.rejections, "insufficient_funds") == 1
    service.node.poor.clear()
    service.settle()
    order = service.get("/v1/orders/a")["order"]
    assert (order["state"], order["last_error"]) == ("Used, captured", None)


def test_acceptance_clears_a_stored_rejection(service: ServiceHarness) -> None:
    service.stored("a")
    service.made("/v1/orders/a/capture")
    for status, error in (
        (DeliveryStatus.REJECTED, "no"),
        (DeliveryStatus.UNKNOWN, "no"),
        (DeliveryStatus.ACCEPTED, None),
    ):
        record_delivery(service.backend.ledger, OrderRecord, "a", DeliveryResult(status, "no" if error else ""))
        assert service.get("/v1/orders/a")["order"]["last_error"] == error


def test_thousand_rejections_are_few_log_lines(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    rejections = RejectionLog(lambda: now)
    for number in range(1_000):
        rejections.record("orders", str(number), POOR)
    assert len(caplog.records) == 5
    now = 10.0
    rejections.record("orders", "later", POOR)
    assert caplog.records[-1].suppressed == 995  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("insufficient funds for gas * price + value: balance 0", "insufficient_funds"),
        ("max fee per gas less than block base fee", "fee_too_low"),
        ("intrinsic gas too low", "gas_limit"),
        ("txpool is full", "pool_full"),
        ("invalid chain id for signer", "chain_id"),
        ("nonce gap too large", "nonce"),
        ("no reason", "other"),
    ],
)
def test_rejections_have_a_bounded_set_of_reasons(message: str, reason: str) -> None:
    assert rejection_reason(message) == reason


def test_unreachable_node_is_a_reason_and_the_breaker_opens(
    service: ServiceHarness, monitored: MonitoredService
) -> None:
    assert monitored.health()["node"]["breaker"] == "closed"

    def hang(method: str) -> None:
        raise TimedOut("no response within 3 s")

    service.node.hook = hang
    for _ in range(4):
        health = monitored.health()
    assert (health["status"], codes(health)) == ("unhealthy", ["node_unreachable"])
    assert (health["node"]["reachable"], health["node"]["breaker"]) == (False, "open")
    # The last balance is still known.
    assert payee_of(health)["status"] == "ok"
    values = samples(monitored.get("/metrics").text)
    assert values["foreseal_pay_node_up"] == 0
    assert values["foreseal_pay_node_breaker{state=open}"] == 1
    assert values["foreseal_pay_node_breaker{state=closed}"] == 0
    assert values["foreseal_pay_node_failures_total{kind=timeout}"] == 3
    assert values["foreseal_pay_node_failures_total{kind=not_sent}"] == 1
    service.node.hook = None
    monitored.now += 2.0
    health = monitored.health()
    assert (health["status"], health["node"]["breaker"]) == ("ok", "closed")


def test_retired_webhook_has_no_backlog_in_the_health(service: ServiceHarness, monitored: MonitoredService) -> None:
    webhook = service.made("/v1/webhooks", {"url": "http://8.8.8.8/hook"})["webhook"]
    service.draft("a")
    service.process.outbox.fan_out()
    assert monitored.health()["webhooks"] == {"pending": 1, "dead": 0}
    service.made(f"/v1/webhooks/{webhook['id']}/retire")
    assert monitored.health()["webhooks"] == {"pending": 0, "dead": 0}
    assert samples(monitored.get("/metrics").text)["foreseal_pay_webhooks_pending"] == 0


def test_wrong_chain_and_missing_block_are_reasons(
    service: ServiceHarness, monitored: MonitoredService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service.node, "eth_chainId", lambda: "0x1")
    assert codes(monitored.health()) == ["wrong_chain"]
    monkeypatch.undo()
    monkeypatch.setattr(service.node, "eth_getBlockByNumber", lambda *_: None)
    assert codes(monitored.health()) == ["no_block"]


def test_health_does_not_wait_for_a_hung_database(
    service: ServiceHarness, monitored: MonitoredService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitored.health()
    entered, released = threading.Event(), threading.Event()

    def hang(*_: Any) -> int:
        entered.set()
        released.wait(60)
        return 1

    hung = threading.Thread(target=monitored.service.monitor.run_checks)
    monkeypatch.setattr(type(monitored.service._processes), "count", hang)
    hung.start()
    assert entered.wait(60)
    assert codes(monitored.get("/healthz").json()) == []
    monitored.now += 2.5
    health = monitored.get("/healthz").json()
    assert (codes(health), health["database"]["reachable"]) == (["database_unreachable"], False)
    assert samples(monitored.get("/metrics").text)["foreseal_pay_database_up"] == 0
    released.set()
    hung.join()
    assert codes(monitored.health()) == []


def test_failing_database_is_a_reason_and_counted(
    service: ServiceHarness, monitored: MonitoredService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitored.health()

    def refuse(*_: Any, **__: Any) -> Any:
        raise monitored.backend.database.engine.dialect.dbapi.OperationalError("disk I/O error")  # type: ignore[union-attr]

    monkeypatch.setattr(monitored.backend.database.engine.dialect, "do_execute", refuse)
    health = monitored.health()
    assert codes(health) == ["database_unreachable"]
    assert count(monitored.service.metrics.database_errors, OperationalError.__name__) > 0
    monkeypatch.undo()
    assert codes(monitored.health()) == []


def test_metrics_follow_an_order(service: ServiceHarness, monitored: MonitoredService) -> None:
    metrics = monitored.service.metrics
    service.backend.database.observer = metrics
    service.captured("a")
    service.made("/v1/orders/a/refunds", {"amount": "5", "id": "r"})
    service.settle()
    monitored.service.monitor.run_checks()
    monitored.service._worker.run_pass()
    service.node.losses.append(("eth_getBlockByNumber", False))
    monitored.service._worker.run_pass()
    metrics.observe_delivery(None, 0.2)
    metrics.observe_delivery("status 500", 0.2)
    monitored.get("/healthz")
    response = monitored.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    values = samples(response.text)
    expected = {
        "foreseal_pay_transitions_total{event=set_terms,object=order}": 1,
        "foreseal_pay_transitions_total{event=capture,object=order}": 1,
        "foreseal_pay_transitions_total{event=landed,object=order}": 1,
        "foreseal_pay_transitions_total{event=finalize,object=refund}": 1,
        "foreseal_pay_capture_seconds_count": 1,
        "foreseal_pay_request_seconds_count{method=GET,route=/healthz,status=200}": 1,
        "foreseal_pay_webhook_seconds_count{outcome=ok}": 1,
        "foreseal_pay_webhook_seconds_count{outcome=failed}": 1,
        "foreseal_pay_worker_passes_total{outcome=ok}": 1,
        "foreseal_pay_worker_passes_total{outcome=failed}": 1,
        "foreseal_pay_node_up": 1,
        "foreseal_pay_database_up": 1,
        "foreseal_pay_blocks_behind{destination=default}": 0,
        "foreseal_pay_orders_without_destination": 0,
        "foreseal_pay_webhooks_pending": 0,
        "foreseal_pay_webhooks_dead": 0,
    }
    assert {name: values.get(name) for name in expected} == expected
    assert values["foreseal_pay_node_block_age_seconds"] >= 0


def test_counters_of_alerts_have_each_series_from_the_start(monitored: MonitoredService) -> None:
    values = samples(monitored.get("/metrics").text)
    reasons = ("insufficient_funds", "fee_too_low", "gas_limit", "pool_full", "nonce", "chain_id", "other")
    assert {f"foreseal_pay_rejections_total{{reason={each}}}": 0 for each in reasons}.items() <= values.items()
    errors = {each.__name__ for each in all_subclasses(DBAPIError)} - {IntegrityError.__name__}
    assert len(errors) == 7
    assert {f"foreseal_pay_database_errors_total{{error={each}}}": 0 for each in errors}.items() <= values.items()


def test_unread_transfers_are_reported(service: ServiceHarness, monitored: MonitoredService) -> None:
    service.settle()
    data = call_data("transferWithMemo(address,uint256,bytes32)", SHOP.address, 7, bytes(32))
    service.chain.inject(BUYER.address.lower(), TOKEN, data)
    for _ in range(3):
        service.chain.inject(BUYER.address.lower(), TOKEN, call_data("transfer(address,uint256)", SHOP.address, 0))
    service.chain.mine()
    service.node.max_logs = 1
    monitored.service._worker.run_pass()
    monitored.service.monitor.run_checks()
    assert codes(monitored.health()) == ["transfers_set_aside"]
    assert monitored.health()["status"] == "degraded"
    assert samples(monitored.get("/metrics").text)["foreseal_pay_set_aside{destination=default}"] == 1
    service.node.max_logs = None
    service.chain.mine(60)
    monitored.service._worker.run_pass()
    monitored.service.monitor.run_checks()
    assert codes(monitored.health()) == []
    values = samples(monitored.get("/metrics").text)
    assert values["foreseal_pay_set_aside{destination=default}"] == 0
    assert values["foreseal_pay_ignored_transfers_total{destination=default}"] == 3


def blocks_behind(monitored: MonitoredService) -> float | None:
    """Return the gauge after a check of the node; None if it is absent."""
    monitored.service.monitor.run_checks()
    return samples(monitored.get("/metrics").text).get("foreseal_pay_blocks_behind{destination=default}")


def test_blocks_behind_grow_while_reads_of_transfers_fail(service: ServiceHarness, monitored: MonitoredService) -> None:
    worker = monitored.service._worker
    worker.run_pass()
    assert blocks_behind(monitored) == 0

    def fail(method: str) -> None:
        if method == "eth_getLogs":
            raise TimedOut("no response within 3 s")

    service.node.hook = fail
    service.chain.mine(70)
    worker.run_pass()
    assert (worker.state.failed_passes, blocks_behind(monitored)) == (1, 70)
    service.chain.mine(5)
    assert blocks_behind(monitored) == 75
    service.node.hook = None
    worker.run_pass()
    assert blocks_behind(monitored) == 0


def test_blocks_behind_are_absent_while_the_node_is_not_usable(
    service: ServiceHarness, monitored: MonitoredService
) -> None:
    monitored.service._worker.run_pass()
    assert blocks_behind(monitored) == 0

    def fail(method: str) -> None:
        raise ConnectionLost("the node is gone")

    service.node.hook = fail
    assert blocks_behind(monitored) is None
    service.node.hook = None
    monitored.now += 2.0
    assert blocks_behind(monitored) == 0


def test_blocks_behind_of_an_occasional_reader_do_not_grow(
    service: ServiceHarness, monitored: MonitoredService
) -> None:
    state = monitored.service._worker.state
    monitored.service._worker.run_pass()
    state.share = WorkShare(1, 2)
    service.chain.mine(70)
    assert blocks_behind(monitored) == 0


def test_time_of_the_last_pass_is_the_start_before_the_first(
    service: ServiceHarness, monitored: MonitoredService
) -> None:
    name, started = "foreseal_pay_worker_last_success_timestamp_seconds", service.clock()
    service.offset += 600
    service.node.losses.append(("eth_getBlockByNumber", False))
    monitored.service._worker.run_pass()
    assert samples(monitored.get("/metrics").text)[name] == started
    monitored.service._worker.run_pass()
    assert samples(monitored.get("/metrics").text)[name] == service.clock() > started


def test_rolled_back_transition_is_not_counted(service: ServiceHarness, monitored: MonitoredService) -> None:
    metrics = monitored.service.metrics
    service.backend.database.observer = metrics
    service.stored("a")
    before = count(metrics.transitions, "order", "void")
    ledger = service.backend.ledger

    def void_and_fail() -> None:
        with service.database.transaction() as tx:
            ledger.move(tx, OrderRecord, locked(tx, OrderRecord, "a"), Trigger.VOID)
            raise ConnectionLost("after the change")

    with pytest.raises(ConnectionLost):
        void_and_fail()
    assert count(metrics.transitions, "order", "void") == before
    service.made("/v1/orders/a/void")
    assert count(metrics.transitions, "order", "void") == before + 1


def test_page_lists_every_metric(monitored: MonitoredService) -> None:
    page = Path(ROOT / "docs/merchants/service.md").read_text()
    listed = set(re.findall(r"^\| `(foreseal_pay_\w+)` \|", page, re.MULTILINE))
    metrics = [(metric, family) for metric in monitored.service.metrics.metrics for family in metric.describe()]
    assert listed == {full_name(family) for _, family in metrics}
    for metric, family in metrics:
        names = metric.labels if isinstance(metric, SampledMetric) else metric._labelnames
        labels = ", ".join(f"`{label}`" for label in names)
        assert f"| `{full_name(family)}` | {family.type} | {labels} | {family.documentation} |" in page


def test_unmatched_transfer_is_counted_without_a_transition(monitored: MonitoredService) -> None:
    entry = TimelineEntry("orders", "a", 1, TRANSFER_UNMATCHED, "Canceled (final)", "Canceled (final)", {})
    monitored.service.metrics.record_committed([entry])
    assert count(monitored.service.metrics.transitions, "order", "transfer_unmatched") == 1
