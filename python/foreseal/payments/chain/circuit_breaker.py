"""Circuit breaker: a node that does not answer is not called for a while, so that callers fail at once.

```text
closed --- `threshold` consecutive failures ---> open (calls fail at once, for `pause` seconds)
  ^                                               |  ^
  '--------- success --------- half_open <--------'  |
                                 (one call)          |
                                   '----- failure ---'
```

A failure is a timeout or a broken connection. An answer of any kind, including an error, is a success.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from foreseal.client.errors import ConnectionLost, TimedOut
from foreseal.client.requests import Request
from foreseal.payments.chain.errors import CircuitOpen
from foreseal.payments.chain.rpc_node import BatchClient

T = TypeVar("T")


class BreakerState(StrEnum):
    """State of a circuit breaker."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class FailureKind(StrEnum):
    """Kind of a call without an answer."""

    TIMEOUT = "timeout"
    CONNECTION = "connection"
    NOT_SENT = "not_sent"
    """The breaker was open."""


@dataclass(frozen=True, slots=True)
class BreakerSettings:
    """Limits of a circuit breaker."""

    threshold: int = 3
    """Consecutive failures that open it."""
    pause: float = 2.0
    """Seconds between the calls that test the node while it is open."""


class CircuitBreaker:
    """Circuit breaker of one node. For any thread."""

    def __init__(self, settings: BreakerSettings | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """Set up a closed breaker. `clock` is monotonic, in seconds."""
        self._settings = settings or BreakerSettings()
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._opened: float | None = None
        self._testing = False
        self._cause = ""
        self.openings = 0
        """Number of times that it opened."""
        self._failed: dict[FailureKind, int] = dict.fromkeys(FailureKind, 0)

    def failures(self) -> dict[FailureKind, int]:
        """Return the number of calls without an answer by kind."""
        with self._lock:
            return dict(self._failed)

    @property
    def state(self) -> BreakerState:
        """Current state."""
        with self._lock:
            return self._state()

    def _state(self) -> BreakerState:
        if self._opened is None:
            return BreakerState.CLOSED
        due = self._clock() >= self._opened + self._settings.pause
        return BreakerState.HALF_OPEN if self._testing or due else BreakerState.OPEN

    def call(self, act: Callable[[], T]) -> T:
        """Return the result of a call. Raises `CircuitOpen` without the call, and the errors of the call."""
        testing = self._enter()
        try:
            result = act()
        except (TimedOut, ConnectionLost) as error:
            kind = FailureKind.TIMEOUT if isinstance(error, TimedOut) else FailureKind.CONNECTION
            self._record_failure(kind, str(error), testing=testing)
            raise
        except Exception:  # any other error is of an answer: the node responds
            self._record_answer(testing=testing)
            raise
        except BaseException:  # the call was interrupted, so the next one tests the node
            self._end_test(testing=testing)
            raise
        self._record_answer(testing=testing)
        return result

    def _enter(self) -> bool:
        """Return True if the call tests the node. Raises `CircuitOpen`."""
        with self._lock:
            if self._opened is None:
                return False
            left = self._opened + self._settings.pause - self._clock()
            if left <= 0 and not self._testing:
                self._testing = True
                return True
            self._failed[FailureKind.NOT_SENT] += 1
            raise CircuitOpen(self._cause, max(left, 0.0))

    def _record_failure(self, kind: FailureKind, cause: str, *, testing: bool) -> None:
        with self._lock:
            self._failed[kind] += 1
            self._failures += 1
            self._cause = cause
            if testing:
                self._testing = False
                self._opened = self._clock()
            elif self._opened is None and self._failures >= self._settings.threshold:
                self._opened = self._clock()
                self.openings += 1

    def _record_answer(self, *, testing: bool) -> None:
        with self._lock:
            # An answer to a call from before the opening does not close it.
            if testing or self._opened is None:
                self._failures, self._opened = 0, None
            if testing:
                self._testing = False

    def _end_test(self, *, testing: bool) -> None:
        if testing:
            with self._lock:
                self._testing = False


class GuardedClient:
    """A client behind a circuit breaker."""

    def __init__(self, client: BatchClient, breaker: CircuitBreaker) -> None:
        self._client = client
        self.breaker = breaker

    def request(self, method: str, *params: object) -> object:
        """Return the result of a request. Raises like the client, and `CircuitOpen`."""
        return self.breaker.call(lambda: self._client.request(method, *params))

    def batch(self, requests: Sequence[Request[object]], *, return_errors: bool = False) -> list[object]:
        """Return the results in request order. Raises like the client, and `CircuitOpen`."""
        return self.breaker.call(lambda: self._client.batch(requests, return_errors=return_errors))
