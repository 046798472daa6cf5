"""The service in one process: HTTP, worker, webhooks and health."""

import hashlib
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from starlette.applications import Starlette

from foreseal.payments.api import webhooks
from foreseal.payments.api.app import build_application
from foreseal.payments.api.backend import Backend
from foreseal.payments.api.events import encode_events
from foreseal.payments.api.idempotency import IdempotentRequests
from foreseal.payments.api.payment_queue import PaymentQueue
from foreseal.payments.api.routes.service import Monitoring
from foreseal.payments.api.views import Views
from foreseal.payments.api.webhook_outbox import DeliveryOutcome, WebhookOutbox
from foreseal.payments.api.webhook_signature import decode_secrets
from foreseal.payments.api.webhooks import ConfiguredTarget
from foreseal.payments.configuration import Configuration, SecretError
from foreseal.payments.configuration.webhook_targets import AddressPolicy
from foreseal.payments.ledger.observer import CombinedObserver
from foreseal.payments.merchant_context import inherit_merchant
from foreseal.payments.periodic_thread import PeriodicThread
from foreseal.payments.telemetry.exporters import ServiceTelemetry
from foreseal.payments.telemetry.order_spans import to_attempt
from foreseal.payments.telemetry.trace_ids import TraceIds
from foreseal.payments.workers.health import HealthMonitor
from foreseal.payments.workers.process_name import ProcessName, acquire_name, build_lock
from foreseal.payments.workers.process_registry import ProcessRegistry
from foreseal.payments.workers.service_metrics import ServiceMetrics
from foreseal.payments.workers.step_listener import StepListener
from foreseal.payments.workers.webhook_dispatcher import MIN_LEASE, DispatcherSettings, WebhookDispatcher
from foreseal.payments.workers.worker import Worker

# Threads that advance orders, refunds and payouts.
_THREADS = 4
# Threads that attempt captures without a request.
_CAPTURE_THREADS = 2


class Service:
    """A merchant's service. `app` handles HTTP requests; the other components run from `start` to `stop`."""

    def __init__(
        self, backend: Backend, environment: Mapping[str, str], telemetry: ServiceTelemetry | None = None
    ) -> None:
        """Set up the components. `telemetry` has the exporters of the process.

        Raises `SecretError` if a webhook's secret is missing or invalid.
        """
        configuration = backend.configuration
        lease = float(configuration.serve.lease_seconds)
        name = self._name = ProcessName.from_section(configuration.serve)
        self._configured = _configured_targets(configuration, environment)
        self._backend = backend
        self._processes = ProcessRegistry(backend.database, name.name, lease, build_lock(backend.database, name))
        self._pool = ThreadPoolExecutor(_THREADS, "advance", inherit_merchant())
        self._captures = ThreadPoolExecutor(_CAPTURE_THREADS, "capture", inherit_merchant())
        self.metrics = ServiceMetrics(backend.monotonic)
        backend.database.observer = self.metrics
        self._tracers = None if telemetry is None else telemetry.build_tracers(backend.database, _trace_ids(backend))
        if self._tracers is not None:
            backend.database.observer = CombinedObserver(self.metrics, self._tracers.orders)
        encode = partial(encode_events, Views(backend.destinations.labels))
        outbox = WebhookOutbox(backend.database, backend.clock, name.lease_owner, max(lease, MIN_LEASE), encode)
        policy = AddressPolicy(configuration.serve.webhook_networks)
        settings = DispatcherSettings(self._configured, policy, configuration.serve.webhook_concurrency)
        self._dispatcher = WebhookDispatcher(outbox, settings, observe=self._observe_delivery, clock=backend.monotonic)
        self._worker = Worker(backend, self._processes, self._pool, self._captures, self._dispatcher.wake)
        self.monitor = HealthMonitor(backend, self._processes, self._worker.state, self._dispatcher.progress)
        self.metrics.sample(self.monitor, self._worker.state, backend.breaker)
        self._repeating = PeriodicThread("worker", self._worker.run_pass, configuration.node.poll_ms / 1000)
        websocket = configuration.node.websocket
        self._waking = None if websocket is None else StepListener(websocket, self._repeating.wake)
        requests = IdempotentRequests(backend.database, backend.clock, name.lease_owner, lease)
        self._payments = PaymentQueue(backend.database, requests, self._dispatcher.wake)
        trace = None if self._tracers is None else self._tracers.requests.record
        watched = Monitoring(self.monitor.health, self.metrics.text, self.metrics.observe_request, trace)
        self.app: Starlette = build_application(backend, requests, self._payments, watched, self._dispatcher.wake)

    def start(self) -> None:
        """Start all components. Raises `NameInUse` and the database's errors."""
        database, processes = self._backend.database, self._processes
        acquire_name(database, self._name, processes.lock, processes.lease, self._backend.clock)
        with database.transaction() as tx:
            webhooks.release_leases(tx, self._name.name)
            webhooks.configure(tx, self._configured, int(self._backend.clock()))
        if self._tracers is not None:
            self._tracers.orders.start()
        self.monitor.start()
        self._repeating.start()
        self._dispatcher.start()
        self._payments.start()
        if self._waking is not None:
            self._waking.start()

    def stop(self) -> None:
        """Stop all components. A pass of the worker ends at its next range of blocks or read of the node."""
        self._worker.stop()
        self._payments.stop()
        if self._waking is not None:
            self._waking.stop()
        self._repeating.stop()
        self._pool.shutdown()
        self._captures.shutdown()
        self._dispatcher.stop()
        self.monitor.stop()
        self._processes.remove()
        if self._tracers is not None:
            self._tracers.orders.stop()

    def _observe_delivery(self, outcome: DeliveryOutcome, seconds: float) -> None:
        self.metrics.observe_delivery(outcome.error, seconds)
        if self._tracers is not None:
            self._tracers.orders.record_attempt(to_attempt(outcome, time.time(), seconds))


def _trace_ids(backend: Backend) -> TraceIds:
    merchant = backend.configuration.merchant
    return TraceIds(backend.configuration.node.chain_id, None if merchant is None else merchant.name)


def _configured_targets(configuration: Configuration, environment: Mapping[str, str]) -> dict[str, ConfiguredTarget]:
    """Return the targets of the configuration by id. Raises `SecretError`."""
    targets: dict[str, ConfiguredTarget] = {}
    for number, hook in enumerate(configuration.webhooks):
        try:
            secrets = decode_secrets(hook.secret().text(environment))
        except ValueError as error:
            raise SecretError(f"webhooks[{number}]: {error}") from None
        policy = hook.policy(configuration.serve)
        targets[_hook_id(hook.url)] = ConfiguredTarget(hook.url, secrets, hook.events, policy)
    return targets


def _hook_id(url: str) -> str:
    """Return the id of a configured target, the same in every process."""
    return f"conf_{hashlib.sha256(url.encode()).hexdigest()[:24]}"
