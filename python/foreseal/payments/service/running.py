"""The service in one process: HTTP, worker, webhooks and health."""

import hashlib
import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette

from foreseal.payments.chain import ChainError
from foreseal.payments.repeating import Repeating
from foreseal.payments.service import hooks
from foreseal.payments.service.app import application
from foreseal.payments.service.backend import Backend
from foreseal.payments.service.hooks import Outbox
from foreseal.payments.service.idempotency import Requests
from foreseal.payments.service.processes import Processes
from foreseal.payments.service.tables import Delivery, deliveries
from foreseal.payments.service.telling import Telling
from foreseal.payments.service.waking import Waking
from foreseal.payments.service.worker import Worker

# Threads that advance orders, refunds and payouts.
_THREADS = 4
# Consecutive failed passes after which the health is `failing`.
_FAILING = 3


class Service:
    """A merchant's service. `app` handles HTTP requests; the other components run from `start` to `stop`."""

    def __init__(self, backend: Backend, environment: Mapping[str, str]) -> None:
        """Set up the components. Raises `SecretError` if a webhook's secret is missing."""
        configuration = backend.configuration
        lease = float(configuration.serve.lease_seconds)
        name = secrets.token_hex(8)
        targets = {_hook_id(hook.url): hook for hook in configuration.webhooks}
        found = {id: hook.secret().text(environment) for id, hook in targets.items()}
        self._urls = {id: hook.url for id, hook in targets.items()}
        self._backend = backend
        self._processes = Processes(backend.database, name, lease)
        self._pool = ThreadPoolExecutor(_THREADS, "advance")
        self._telling = Telling(Outbox(backend.database, backend.clock, lease), found)
        self._worker = Worker(backend, self._processes, self._pool, self._telling.wake)
        self._repeating = Repeating("worker", self._worker.turn, configuration.node.poll_ms / 1000)
        websocket = configuration.node.websocket
        self._waking = None if websocket is None else Waking(websocket, self._repeating.wake)
        requests = Requests(backend.database, backend.clock, name, lease)
        self.app: Starlette = application(backend, requests, self.health, self._telling.wake)

    def start(self) -> None:
        """Start all components. Raises the database's errors."""
        with self._backend.database.transaction() as tx:
            hooks.configure(tx, self._urls, int(self._backend.clock()))
        self._repeating.start()
        self._telling.start()
        if self._waking is not None:
            self._waking.start()

    def stop(self) -> None:
        """Stop all components after their current work."""
        if self._waking is not None:
            self._waking.stop()
        self._repeating.stop()
        self._pool.shutdown()
        self._telling.stop()
        self._processes.gone()

    def health(self) -> dict[str, Any]:
        """Return the health. It is failing if node or database do not answer, or if several passes in a row fail."""
        state, now = self._worker.state, self._backend.clock()
        block, told = self._node()
        try:
            waiting, dead, count = self._counts(now)
        except SQLAlchemyError:
            waiting = dead = count = 0
            told = told or "the database does not answer"
        return {
            "status": "failing" if told or state.errors >= _FAILING else "ok",
            "node": {"answers": block is not None, "block": block, "told": told},
            "worker": {
                "read": state.read,
                "latest": state.latest,
                "caught_up": state.caught_up,
                "passed": state.passed,
                "errors": state.errors,
            },
            "processes": count,
            "webhooks": {"waiting": waiting, "dead": dead},
        }

    def _node(self) -> tuple[int | None, str]:
        try:
            found, head = self._backend.node.chain_id(), self._backend.node.head("latest")
        except ChainError as error:
            return None, str(error)
        configured = self._backend.merchant.domain.chain_id
        if found != configured:
            return None, f"the node is of chain {found}, configured is {configured}"
        return (None, "the node has no block") if head is None else (head.number, "")

    def _counts(self, now: float) -> tuple[int, int, int]:
        with self._backend.database.reading() as tx:
            of = select(deliveries.c.state, func.count().label("number")).group_by(deliveries.c.state)
            # Delivered ones are never deleted, so a count of all would grow without bound.
            open_ = deliveries.c.state.in_((Delivery.WAITING, Delivery.DEAD))
            counts = {row.state: row.number for row in tx.execute(of.where(open_))}
        waiting, dead = counts.get(Delivery.WAITING, 0), counts.get(Delivery.DEAD, 0)
        return waiting, dead, self._processes.count(now)


def _hook_id(url: str) -> str:
    """Return the id of a configured target, the same in every process."""
    return f"conf_{hashlib.sha256(url.encode()).hexdigest()[:24]}"
