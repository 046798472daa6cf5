"""The service in one process: HTTP, worker, webhooks and health."""

import hashlib
import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette

from foreseal.payments.api import webhooks
from foreseal.payments.api.app import build_application
from foreseal.payments.api.backend import Backend
from foreseal.payments.api.events import encode_events
from foreseal.payments.api.idempotency import IdempotentRequests
from foreseal.payments.api.models import DeliveryRecord, DeliveryState, WebhookRecord
from foreseal.payments.api.payment_queue import PaymentQueue
from foreseal.payments.api.views import Views
from foreseal.payments.api.webhook_outbox import WebhookOutbox
from foreseal.payments.api.webhook_signature import decode_secrets
from foreseal.payments.api.webhooks import ConfiguredTarget
from foreseal.payments.chain import ChainError
from foreseal.payments.configuration import Configuration, SecretError
from foreseal.payments.configuration.webhook_targets import AddressPolicy
from foreseal.payments.periodic_thread import PeriodicThread
from foreseal.payments.workers.feed_listener import FeedListener
from foreseal.payments.workers.process_registry import ProcessRegistry
from foreseal.payments.workers.webhook_dispatcher import MIN_LEASE, DispatcherSettings, WebhookDispatcher
from foreseal.payments.workers.worker import Worker

# Threads that advance orders, refunds and payouts.
_THREADS = 4
# Consecutive failed passes after which the health is `failing`.
_FAILING = 3


class Service:
    """A merchant's service. `app` handles HTTP requests; the other components run from `start` to `stop`."""

    def __init__(self, backend: Backend, environment: Mapping[str, str]) -> None:
        """Set up the components. Raises `SecretError` if a webhook's secret is missing or invalid."""
        configuration = backend.configuration
        lease = float(configuration.serve.lease_seconds)
        name = secrets.token_hex(8)
        self._configured = _configured_targets(configuration, environment)
        self._backend = backend
        self._processes = ProcessRegistry(backend.database, name, lease)
        self._pool = ThreadPoolExecutor(_THREADS, "advance")
        outbox = WebhookOutbox(
            backend.database, backend.clock, name, max(lease, MIN_LEASE), partial(encode_events, Views(backend.token))
        )
        policy = AddressPolicy(configuration.serve.webhook_networks)
        settings = DispatcherSettings(self._configured, policy, configuration.serve.webhook_concurrency)
        self._dispatcher = WebhookDispatcher(outbox, settings)
        self._worker = Worker(backend, self._processes, self._pool, self._dispatcher.wake)
        self._repeating = PeriodicThread("worker", self._worker.run_pass, configuration.node.poll_ms / 1000)
        websocket = configuration.node.websocket
        self._waking = None if websocket is None else FeedListener(websocket, self._repeating.wake)
        requests = IdempotentRequests(backend.database, backend.clock, name, lease)
        self._payments = PaymentQueue(backend.database, requests, backend.payments, self._dispatcher.wake)
        self.app: Starlette = build_application(backend, requests, self._payments, self.health, self._dispatcher.wake)

    def start(self) -> None:
        """Start all components. Raises the database's errors."""
        with self._backend.database.transaction() as tx:
            webhooks.configure(tx, self._configured, int(self._backend.clock()))
        self._repeating.start()
        self._dispatcher.start()
        self._payments.start()
        if self._waking is not None:
            self._waking.start()

    def stop(self) -> None:
        """Stop all components after their current work."""
        self._payments.stop()
        if self._waking is not None:
            self._waking.stop()
        self._repeating.stop()
        self._pool.shutdown()
        self._dispatcher.stop()
        self._processes.remove()

    def health(self) -> dict[str, Any]:
        """Return the health. It names as reasons all failed checks of node, database and worker."""
        state, now = self._worker.state, self._backend.clock()
        block, reasons = self._node()
        reachable = True
        try:
            pending, dead, count = self._counts(now)
        except SQLAlchemyError:
            pending = dead = count = 0
            reachable = False
            reasons.append({"code": "database_unreachable", "message": "the database does not respond"})
        if state.errors >= _FAILING:
            failed = f"the worker failed {state.errors} times in a row"
            reasons.append({"code": "worker_failing", "message": failed})
        return {
            "status": "unhealthy" if reasons else "ok",
            "reasons": reasons,
            "node": {"reachable": block is not None, "latest_block": block},
            "database": {"reachable": reachable},
            "worker": {
                "read_block": state.read,
                "latest_block": state.latest,
                "synced": state.caught_up,
                "last_success": state.passed,
                "consecutive_failures": state.errors,
            },
            "processes": count,
            "webhooks": {"pending": pending, "dead": dead},
        }

    def _node(self) -> tuple[int | None, list[dict[str, str]]]:
        """Return the node's latest block, and the reasons why the node is not usable."""
        try:
            found, head = self._backend.node.chain_id(), self._backend.node.head("latest")
        except ChainError as error:
            return None, [{"code": "node_unreachable", "message": str(error)}]
        configured = self._backend.merchant.domain.chain_id
        if found != configured:
            return None, [{"code": "wrong_chain", "message": f"the node has chain id {found}, not {configured}"}]
        if head is None:
            return None, [{"code": "no_block", "message": "the node has no block"}]
        return head.number, []

    def _counts(self, now: float) -> tuple[int, int, int]:
        with self._backend.database.reading() as tx:
            # Delivered ones are never deleted, so a count of all would grow without bound.
            open_ = DeliveryRecord.state.in_((DeliveryState.WAITING, DeliveryState.DEAD))
            # A retired target retains its dead deliveries.
            active = DeliveryRecord.webhook_id.in_(select(WebhookRecord.id).where(WebhookRecord.retired.is_(None)))
            query = select(DeliveryRecord.state, func.count()).where(open_, active)
            counts = dict(tx.execute(query.group_by(DeliveryRecord.state)).all())
        waiting, dead = counts.get(DeliveryState.WAITING, 0), counts.get(DeliveryState.DEAD, 0)
        return waiting, dead, self._processes.count(now)


def _configured_targets(configuration: Configuration, environment: Mapping[str, str]) -> dict[str, ConfiguredTarget]:
    """Return the targets of the configuration by id. Raises `SecretError`."""
    found: dict[str, ConfiguredTarget] = {}
    for number, hook in enumerate(configuration.webhooks):
        try:
            secrets = decode_secrets(hook.secret().text(environment))
        except ValueError as error:
            raise SecretError(f"webhooks[{number}]: {error}") from None
        policy = hook.policy(configuration.serve)
        found[_hook_id(hook.url)] = ConfiguredTarget(hook.url, secrets, hook.events, policy)
    return found


def _hook_id(url: str) -> str:
    """Return the id of a configured target, the same in every process."""
    return f"conf_{hashlib.sha256(url.encode()).hexdigest()[:24]}"
