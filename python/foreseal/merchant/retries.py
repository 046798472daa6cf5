"""When a request is sent again: no sockets, no waiting.

A retry has the Idempotency-Key of the first attempt, so the service executes the request once.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx

from foreseal.client.backoff import Backoff

RETRIED_ERRORS = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)
"""Errors without a response after which the same request may succeed."""
_TEMPORARY = (502, 503, 504)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Limits of the retries of one request; times are in seconds."""

    attempts: int = 5
    """Maximum attempts. 1: no retries."""
    backoff: Backoff = field(default_factory=lambda: Backoff(first=0.2, maximum=5.0))
    """Delays between attempts. A longer Retry-After of the service takes precedence."""
    max_elapsed: float = 60.0
    """No attempt starts later than this after the first one."""
    clock: Callable[[], float] = time.monotonic
    """Monotonic clock, with any origin."""
    random: Callable[[], float] = random.random
    """Source of random numbers from 0 to 1."""

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts must be at least 1, got {self.attempts}")
        if self.max_elapsed < 0:
            raise ValueError(f"max_elapsed must not be negative, got {self.max_elapsed}")


class AttemptCounter:
    """Attempts at one request."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._started = policy.clock()
        self._failures = 0

    def delay_after(self, outcome: httpx.Response | httpx.RequestError) -> float | None:
        """Return the seconds until the next attempt; None if the outcome is final."""
        if not _is_temporary(outcome):
            return None
        self._failures += 1
        if self._failures >= self._policy.attempts:
            return None
        delay = self._policy.backoff.wait(self._failures, self._policy.random)
        if isinstance(outcome, httpx.Response):
            delay = max(delay, _retry_after(outcome) or 0.0)
        elapsed = self._policy.clock() - self._started
        return delay if elapsed + delay <= self._policy.max_elapsed else None


def _is_temporary(outcome: httpx.Response | httpx.RequestError) -> bool:
    if isinstance(outcome, httpx.RequestError):
        return isinstance(outcome, RETRIED_ERRORS)
    # A duplicate that arrives during the execution of the first request has this status and a Retry-After.
    in_progress = outcome.status_code == 409 and _retry_after(outcome) is not None
    return in_progress or outcome.status_code in _TEMPORARY


def _retry_after(response: httpx.Response) -> float | None:
    """Return the seconds of Retry-After; None without one. The service sends no dates."""
    text = response.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() else None
