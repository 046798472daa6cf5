"""Metrics of the service, for Prometheus. docs/merchants/service.md lists them."""

import functools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram

from foreseal.payments.chain import BreakerState, CircuitBreaker
from foreseal.payments.ledger import TimelineEntry, Trigger
from foreseal.payments.ledger.database import ERROR_CLASSES
from foreseal.payments.ledger.event_types import OBJECTS
from foreseal.payments.ledger.models import OrderRecord
from foreseal.payments.metrics import (
    SECONDS,
    MetricGroups,
    SampledCounter,
    SampledGauge,
    SampledMetric,
    SampledValue,
)
from foreseal.payments.workers.health import HealthMonitor
from foreseal.payments.workers.rejections import REJECTION_REASONS, RejectionLog, rejection_reason
from foreseal.payments.workers.worker import WorkerState

# Captures whose duration is measured at the same time.
_MAX_CAPTURES = 100_000


class ServiceMetrics:
    """Metrics of one process, which also observe its ledger."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Set up the metrics. `clock` is monotonic, in seconds."""
        self._clock = clock
        self._log = RejectionLog(clock)
        self._lock = threading.Lock()
        self._submitted: OrderedDict[str, float] = OrderedDict()
        self.registry = CollectorRegistry()
        counter = functools.partial(Counter, registry=self.registry)
        histogram = functools.partial(Histogram, registry=self.registry, buckets=SECONDS)
        self._sampled: tuple[SampledMetric, ...] = ()
        self.transitions = counter(
            "foreseal_pay_transitions_total", "State transitions by object and event.", ("object", "event")
        )
        self.requests = histogram(
            "foreseal_pay_request_seconds", "Duration of HTTP requests.", ("method", "route", "status")
        )
        self.captures = histogram(
            "foreseal_pay_capture_seconds", "Time from the submission of a capture to the provisional payment."
        )
        self.deliveries = histogram(
            "foreseal_pay_webhook_seconds", "Duration of attempts to deliver a webhook.", ("outcome",)
        )
        self.rejections = counter(
            "foreseal_pay_rejections_total", "Transactions that the node rejected, by reason.", ("reason",)
        )
        self.database_errors = counter(
            "foreseal_pay_database_errors_total", "Errors of the database by class.", ("error",)
        )
        # These series exist from the start: `rate` does not count an event that creates its series.
        for reason in REJECTION_REASONS:
            self.rejections.labels(reason)
        for error in ERROR_CLASSES:
            self.database_errors.labels(error.__name__)

    def sample(self, monitor: HealthMonitor, worker: WorkerState, breaker: CircuitBreaker) -> None:
        """Add the metrics that are read from other components."""
        self._sampled = (
            *_node_metrics(monitor, worker),
            *_breaker_metrics(breaker),
            *_payee_metrics(monitor),
            *_worker_metrics(worker),
            *_progress_metrics(monitor),
            *_lost_gas_metrics(monitor),
            *_transfer_metrics(worker),
            *_database_metrics(monitor),
        )
        for metric in self._sampled:
            self.registry.register(metric)

    @property
    def metrics(self) -> tuple[Counter | Histogram | SampledMetric, ...]:
        """All metrics, in the order of the text."""
        own = (self.transitions, self.requests, self.captures, self.deliveries, self.rejections, self.database_errors)
        return (*own, *self._sampled)

    def text(self) -> str:
        """Return all metrics as text. Waits neither for the node nor for the database."""
        return MetricGroups({None: self.registry}).text()

    def observe_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Add an HTTP request."""
        self.requests.labels(method, route, str(status)).observe(seconds)

    def observe_delivery(self, error: str | None, seconds: float) -> None:
        """Add an attempt to deliver a webhook; `error` is None if it succeeded."""
        self.deliveries.labels("ok" if error is None else "failed").observe(seconds)

    def record_committed(self, entries: Sequence[TimelineEntry]) -> None:
        """Count transitions, and measure captures that this process submitted."""
        now = self._clock()
        for entry in entries:
            self.transitions.labels(OBJECTS.get(entry.subject, entry.subject), _event(entry.trigger)).inc()
            if entry.subject == OrderRecord.__tablename__:
                self._measure_capture(entry, now)

    def _measure_capture(self, entry: TimelineEntry, now: float) -> None:
        with self._lock:
            if entry.trigger == Trigger.CAPTURE:
                self._submitted[entry.subject_id] = now
                if len(self._submitted) > _MAX_CAPTURES:
                    self._submitted.popitem(last=False)
                return
            # A cancellation lands as well, but was not submitted as a capture.
            began = self._submitted.pop(entry.subject_id, None) if entry.trigger in _ENDS else None
        if began is not None and entry.trigger == Trigger.LANDED:
            self.captures.observe(now - began)

    def record_rejection(self, subject: str, id: str, message: str) -> None:
        """Count and log a rejection."""
        self.rejections.labels(rejection_reason(message)).inc()
        self._log.record(subject, id, message)

    def record_database_error(self, error: BaseException) -> None:
        """Count an error of the database."""
        self.database_errors.labels(type(error).__name__).inc()


_NAMES = {trigger.value: trigger.name.lower() for trigger in Trigger}


def _event(trigger: str) -> str:
    """Return the label of a trigger. Entries that change no state have others than the transitions' triggers."""
    return _NAMES.get(trigger) or trigger.replace(" ", "_")


_ENDS = frozenset({Trigger.LANDED, Trigger.FAIL, Trigger.EXPIRE})


def _optional(value: float | None) -> Iterable[SampledValue]:
    return () if value is None else (SampledValue(value),)


def _by_label(values: Mapping[str, float | None]) -> Iterable[SampledValue]:
    return [SampledValue(value, (label,)) for label, value in values.items() if value is not None]


def _one(value: float) -> Iterable[SampledValue]:
    return (SampledValue(value),)


def _node_metrics(monitor: HealthMonitor, worker: WorkerState) -> Iterable[SampledMetric]:
    yield SampledGauge(
        "foreseal_pay_node_up", "1 if the node is usable, 0 if not.", lambda: _one(monitor.is_node_usable())
    )
    yield SampledGauge(
        "foreseal_pay_node_block_age_seconds",
        "Time since the timestamp of the newest block of the node.",
        lambda: _optional(monitor.block_age()),
    )
    yield SampledGauge(
        "foreseal_pay_blocks_behind",
        "Blocks of the node in which transfers are not read yet, by destination.",
        lambda: _by_label(worker.blocks_behind(monitor.newest_block())),
        ("destination",),
    )


def _progress_metrics(monitor: HealthMonitor) -> Iterable[SampledMetric]:
    yield SampledGauge(
        "foreseal_pay_oldest_transaction_blocks",
        "Blocks since the first transaction of each payee that no block includes was signed; 0 without one.",
        lambda: _by_label(monitor.waiting_blocks()),
        ("payee",),
    )
    yield SampledGauge(
        "foreseal_pay_task_age_seconds",
        "Time since the last progress of a background task, by task.",
        lambda: _by_label(monitor.task_ages()),
        ("task",),
    )
    yield SampledGauge(
        "foreseal_pay_watcher_age_seconds",
        "Time since the last successful read of transfers, by destination.",
        lambda: _by_label(monitor.watcher_ages()),
        ("destination",),
    )


def _lost_gas_metrics(monitor: HealthMonitor) -> Iterable[SampledMetric]:
    yield SampledGauge(
        "foreseal_pay_code_lost_gas",
        "Gas within an hour of transactions that payers with code made revert.",
        lambda: _one(monitor.database().code_lost_gas),
    )


def _breaker_metrics(breaker: CircuitBreaker) -> Iterable[SampledMetric]:
    yield SampledGauge(
        "foreseal_pay_node_breaker",
        "1 for the state of the node's circuit breaker, 0 for the other states.",
        lambda: [SampledValue(state is breaker.state, (state,)) for state in BreakerState],
        ("state",),
    )
    yield SampledCounter(
        "foreseal_pay_node_breaker_openings_total",
        "Openings of the node's circuit breaker.",
        lambda: _one(breaker.openings),
    )
    yield SampledCounter(
        "foreseal_pay_node_failures_total",
        "Calls to the node without an answer, by kind: timeout, connection, not_sent.",
        lambda: [SampledValue(count, (kind,)) for kind, count in breaker.failures().items()],
        ("kind",),
    )


def _payee_metrics(monitor: HealthMonitor) -> Iterable[SampledMetric]:
    yield SampledGauge(
        "foreseal_pay_payee_balance_wei",
        "Ether of each payee in wei.",
        lambda: _by_label({address: account.balance for address, account in monitor.node().accounts.items()}),
        ("payee",),
    )
    yield SampledGauge(
        "foreseal_pay_payee_captures_left",
        "Estimated captures that the ether of each payee pays at current fees.",
        lambda: _by_label({address: account.captures_left for address, account in monitor.node().accounts.items()}),
        ("payee",),
    )


def _worker_metrics(worker: WorkerState) -> Iterable[SampledMetric]:
    yield SampledCounter(
        "foreseal_pay_worker_passes_total",
        "Passes of the worker by outcome.",
        lambda: [SampledValue(worker.passes, ("ok",)), SampledValue(worker.failed_passes, ("failed",))],
        ("outcome",),
    )
    yield SampledGauge(
        "foreseal_pay_worker_last_success_timestamp_seconds",
        "Unix time of the last successful pass of the worker; before the first one, of its start.",
        lambda: _one(worker.started if worker.passed is None else worker.passed),
    )


def _transfer_metrics(worker: WorkerState) -> Iterable[SampledMetric]:
    yield SampledGauge(
        "foreseal_pay_set_aside",
        "Transactions and blocks whose transfers the node did not return, by destination.",
        lambda: _by_label(dict(worker.set_aside)),
        ("destination",),
    )
    yield SampledCounter(
        "foreseal_pay_ignored_transfers_total",
        "Transfers below the minimum amount, by destination.",
        lambda: _by_label(dict(worker.ignored)),
        ("destination",),
    )


def _database_metrics(monitor: HealthMonitor) -> Iterable[SampledMetric]:
    yield SampledGauge(
        "foreseal_pay_database_up",
        "1 if the database answered the last check in time, 0 if not.",
        lambda: _one(monitor.database().reachable),
    )
    yield SampledGauge(
        "foreseal_pay_database_writable",
        "1 if the database accepted a write within the last 5 s, 0 if not.",
        lambda: _one(monitor.is_writable()),
    )
    yield SampledGauge(
        "foreseal_pay_webhooks_pending", "Deliveries of webhooks that wait.", lambda: _one(monitor.database().pending)
    )
    yield SampledGauge(
        "foreseal_pay_webhooks_dead",
        "Deliveries of webhooks whose attempts all failed.",
        lambda: _one(monitor.database().dead),
    )
    yield SampledGauge(
        "foreseal_pay_orders_without_destination",
        "Open orders whose token and payee no configured destination has.",
        lambda: _one(monitor.database().without_destination),
    )
    yield SampledGauge(
        "foreseal_pay_processes",
        "Active processes that share the database.",
        lambda: _one(monitor.database().processes),
    )
    yield SampledGauge(
        "foreseal_pay_check_age_seconds",
        "Time since the end of a background check, by check.",
        lambda: [SampledValue(age, (check,)) for check, age in monitor.ages().items() if age is not None],
        ("check",),
    )
