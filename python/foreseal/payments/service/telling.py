"""Telling webhooks: a thread that fans out what is new, and one for each target, so that none waits for another."""

import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import httpx
import orjson
from sqlalchemy import Row
from sqlalchemy.exc import SQLAlchemyError

from foreseal.payments.repeating import Repeating
from foreseal.payments.service import views
from foreseal.payments.service.hooks import Outbox
from foreseal.payments.service.signing import HEADER, sign

log = logging.getLogger(__name__)

EVENT = "Foreseal-Event"
"""Header with the number of the entry: the same for every attempt, so that a receiver knows what it had before."""

# Seconds between looks where nothing says that there is something.
_LOOK = 1.0
# Deliveries that are claimed at once, one for each order.
_CLAIMED = 20
_ANSWER_TIME = 10.0

Post = Callable[[str, bytes, Mapping[str, str]], int]
"""Posts a body to a URL; the status. Raises `httpx.HTTPError`."""


class Telling:
    """Tells all targets what happens, until it is stopped."""

    def __init__(self, outbox: Outbox, secrets: Mapping[str, str], post: Post | None = None) -> None:
        """`secrets` are those of configured targets, by id."""
        self._outbox = outbox
        self._secrets = secrets
        self._client = httpx.Client(timeout=_ANSWER_TIME, follow_redirects=False)
        self._post = post or self._posted
        self._stopping = threading.Event()
        self._fanning_out = Repeating("webhooks", self._if_it_answers(self._fan_out), _LOOK)
        self._targets: dict[str, Repeating] = {}

    def start(self) -> None:
        """Begin."""
        self._fanning_out.start()

    def stop(self) -> None:
        """End; a delivery under way is waited for."""
        self._stopping.set()
        self._fanning_out.stop()
        for target in self._targets.values():
            target.stop()
        self._client.close()

    def wake(self) -> None:
        """Say that there may be news: once they are fanned out, each target's thread is told."""
        self._fanning_out.wake()

    def deliver(self, hook: Row[Any]) -> int:
        """Post what is due to a target; how many were tried."""
        secret = hook.secret or self._secrets.get(hook.id)
        if secret is None:  # of another configuration: that process knows it
            return 0
        claimed = self._outbox.claim(hook.id, _CLAIMED)
        outcomes = []
        for delivery, entry in claimed:
            if self._stopping.is_set():
                break
            outcomes.append((delivery, self._tell(hook.url, secret, entry)))
        if outcomes:
            self._outbox.note(outcomes)
        return len(outcomes)

    def _fan_out(self) -> None:
        self._outbox.fan_out()
        for hook in self._outbox.targets():
            if hook.id not in self._targets:
                work = self._if_it_answers(partial(self._deliver_to, hook.id))
                self._targets[hook.id] = Repeating(f"webhook {hook.id}", work, _LOOK)
                self._targets[hook.id].start()
            self._targets[hook.id].wake()

    def _deliver_to(self, id: str) -> None:
        hook = next((each for each in self._outbox.targets() if each.id == id), None)
        while hook is not None and not self._stopping.is_set() and self.deliver(hook):
            pass

    def _if_it_answers(self, work: Callable[[], None]) -> Callable[[], None]:
        """The same work, which waits for a database that does not answer."""

        def act() -> None:
            try:
                work()
            except SQLAlchemyError as error:
                log.warning("webhooks wait for the database", extra={"error": type(error).__name__})

        return act

    def _tell(self, url: str, secret: str, entry: Row[Any]) -> str | None:
        """Post one entry; what went wrong, or None."""
        body = orjson.dumps(views.entry(entry))
        headers = {
            "content-type": "application/json",
            EVENT: str(entry.id),
            HEADER: sign(secret, int(self._outbox.clock()), body),
        }
        try:
            status = self._post(url, body, headers)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return f"{type(error).__name__}: {error}"
        return None if 200 <= status < 300 else f"it answered {status}"

    def _posted(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        return self._client.post(url, content=body, headers=headers).status_code
