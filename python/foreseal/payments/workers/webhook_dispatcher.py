"""Webhook delivery: one thread fans out new events, one thread per target posts them.

Targets therefore do not wait for each other.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial

import httpx
import orjson
from sqlalchemy.exc import SQLAlchemyError

from foreseal.payments.api.events import event, event_id
from foreseal.payments.api.models import WebhookRecord
from foreseal.payments.api.webhook_signature import HEADER, sign
from foreseal.payments.api.webhooks import WebhookOutbox
from foreseal.payments.ledger.models import TimelineRecord
from foreseal.payments.periodic_thread import PeriodicThread

log = logging.getLogger(__name__)

EVENT = "Foreseal-Event"
"""Header with the event's id. It is the same for every attempt, so a receiver can detect duplicates."""

# Seconds between polls if nothing wakes a thread.
_POLL_INTERVAL = 1.0
# Deliveries claimed together, at most one per order.
_CLAIMED = 20
_ANSWER_TIME = 10.0

Post = Callable[[str, bytes, Mapping[str, str]], int]
"""Function that posts a body to a URL and returns the status. Raises `httpx.HTTPError`."""


class WebhookDispatcher:
    """Dispatcher of webhooks to all targets."""

    def __init__(
        self,
        outbox: WebhookOutbox,
        secrets: Mapping[str, str],
        post: Post | None = None,
        observe: Callable[[str | None, float], None] = lambda error, seconds: None,
    ) -> None:
        """Set up the threads. `secrets` belong to configured targets, by id.

        `observe` receives the error of each attempt, None if it succeeded, and its duration in seconds.
        """
        self._observe = observe
        self._outbox = outbox
        self._secrets = secrets
        self._client = httpx.Client(timeout=_ANSWER_TIME, follow_redirects=False)
        self._post = post or self._posted
        self._stopping = threading.Event()
        self._fanning_out = PeriodicThread("webhooks", self._if_it_answers(self._fan_out), _POLL_INTERVAL)
        self._targets: dict[str, PeriodicThread] = {}

    def start(self) -> None:
        """Start the threads."""
        self._fanning_out.start()

    def stop(self) -> None:
        """Stop the threads after any delivery in progress."""
        self._stopping.set()
        self._fanning_out.stop()
        for target in self._targets.values():
            target.stop()
        self._client.close()

    def wake(self) -> None:
        """Signal that there may be new events. After the fan-out, each target's thread is woken."""
        self._fanning_out.wake()

    def deliver(self, hook: WebhookRecord) -> int:
        """Post the due deliveries to a target. Return the number of attempts."""
        secret = hook.secret or self._secrets.get(hook.id)
        if secret is None:  # configured in another process, which has the secret
            return 0
        claimed = self._outbox.claim(hook.id, _CLAIMED)
        outcomes = []
        for delivery, entry in claimed:
            if self._stopping.is_set():
                break
            began = time.perf_counter()
            error = self._deliver(hook.url, secret, entry)
            self._observe(error, time.perf_counter() - began)
            outcomes.append((delivery, error))
        if outcomes:
            self._outbox.record_and_reschedule(outcomes)
        return len(outcomes)

    def _fan_out(self) -> None:
        self._outbox.fan_out()
        for hook in self._outbox.targets():
            if hook.id not in self._targets:
                work = self._if_it_answers(partial(self._deliver_to, hook.id))
                self._targets[hook.id] = PeriodicThread(f"webhook {hook.id}", work, _POLL_INTERVAL)
                self._targets[hook.id].start()
            self._targets[hook.id].wake()

    def _deliver_to(self, id: str) -> None:
        hook = next((target for target in self._outbox.targets() if target.id == id), None)
        while hook is not None and not self._stopping.is_set() and self.deliver(hook):
            pass

    def _if_it_answers(self, work: Callable[[], None]) -> Callable[[], None]:
        """Wrap `work` so that a database error is logged, and `work` runs again later."""

        def act() -> None:
            try:
                work()
            except SQLAlchemyError as error:
                log.warning("webhooks are waiting for the database", extra={"error": type(error).__name__})

        return act

    def _deliver(self, url: str, secret: str, entry: TimelineRecord) -> str | None:
        """Post one entry. Return the error, or None."""
        body = orjson.dumps(event(entry))
        headers = {
            "content-type": "application/json",
            EVENT: event_id(entry.id),
            HEADER: sign(secret, int(self._outbox.clock()), body),
        }
        try:
            status = self._post(url, body, headers)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return f"{type(error).__name__}: {error}"
        return None if 200 <= status < 300 else f"status {status}"

    def _posted(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        return self._client.post(url, content=body, headers=headers).status_code
