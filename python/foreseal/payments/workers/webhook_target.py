"""One target of webhooks within the dispatcher: its claimed deliveries, its attempts in progress and their limit."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from foreseal.payments.api.models import WebhookRecord
from foreseal.payments.api.webhook_outbox import ClaimedDelivery
from foreseal.payments.api.webhook_signature import decode_secret
from foreseal.payments.configuration.webhook_targets import AddressPolicy
from foreseal.payments.workers.webhook_transport import WebhookTransport

FIRST_CONCURRENCY = 16
"""Concurrent attempts to a target before its first response."""


@dataclass(slots=True)
class ConcurrencyWindow:
    """Number of concurrent attempts: one more after each success, half after each sign of overload, at least one.

    A target that does not respond soon has one attempt at a time, which occupies one connection.
    """

    limit: int

    def succeeded(self, maximum: int) -> None:
        """Count a response."""
        self.limit = min(self.limit + 1, maximum)

    def overloaded(self) -> None:
        """Count an attempt without a response, or with a response that means overload."""
        self.limit = max(self.limit // 2, 1)


@dataclass(slots=True)
class TargetQueue:
    """Claimed deliveries of one target."""

    url: str
    policy: AddressPolicy
    transport: WebhookTransport
    keys: Sequence[bytes] | None = ()
    """Keys that sign; empty if another process has the secret, None if it is invalid."""
    window: ConcurrencyWindow = field(default_factory=lambda: ConcurrencyWindow(FIRST_CONCURRENCY))
    queue: deque[ClaimedDelivery] = field(default_factory=deque)
    """Claimed, not attempted yet."""
    in_flight: int = 0
    paused_until: float = 0.0
    """Unix time until which the target wants no attempts (Retry-After)."""

    def capacity(self, maximum: int, now: float) -> int:
        """Return the number of deliveries to claim: a queue as long as the attempts in progress can be."""
        if not self.keys or now < self.paused_until:
            return 0
        limit = min(self.window.limit, maximum)
        return max(limit + self._ahead(limit) - self.in_flight - len(self.queue), 0)

    def remove_surplus(self, maximum: int, now: float) -> list[ClaimedDelivery]:
        """Remove and return deliveries that would wait too long here, because the target slowed down or paused."""
        allowed = 0 if now < self.paused_until else self._ahead(min(self.window.limit, maximum))
        return [self.queue.pop() for _ in range(len(self.queue) - allowed)]

    @staticmethod
    def _ahead(limit: int) -> int:
        """Return the length of the queue. A target that does not respond has none: its leases would expire."""
        return limit if limit > 1 else 0

    def next(self, maximum: int, now: float) -> ClaimedDelivery | None:
        """Remove and return the next delivery to attempt; None if there is none, or no free attempt."""
        if not self.queue or self.in_flight >= min(self.window.limit, maximum) or now < self.paused_until:
            return None
        return self.queue.popleft()


def signing_keys(hook: WebhookRecord, configured: Sequence[str], now: float) -> list[bytes]:
    """Return the keys that sign webhooks to a target, the newest first; none if another process has the secret.

    Raises ValueError for an invalid secret.
    """
    secrets = [*configured] if hook.secret is None else [hook.secret]
    if hook.previous_secret is not None and now < (hook.previous_secret_expires or 0):
        secrets.append(hook.previous_secret)
    return [decode_secret(secret) for secret in secrets]
