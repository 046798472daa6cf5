"""A check that runs in the background, so that its readers never wait for what it checks."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from foreseal.payments.periodic_thread import PeriodicThread

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CheckResult(Generic[T]):
    """Last result of a check."""

    value: T | None
    """None until the first check ends."""
    age: float | None
    """Seconds since the last check ended; None until then."""
    overdue: bool
    """True if the current check exceeds its time limit, or none has ended yet."""


class BackgroundCheck(Generic[T]):
    """A check that a thread repeats. Its function raises nothing."""

    def __init__(
        self, name: str, check: Callable[[], T], every: float, limit: float, clock: Callable[[], float]
    ) -> None:
        """Set up the thread. A check that takes more than `limit` seconds is overdue; `clock` is monotonic."""
        self._check = check
        self._limit = limit
        self._clock = clock
        self._value: T | None = None
        self._ended: float | None = None
        self._began: float | None = None
        self._first = threading.Event()
        self._thread = PeriodicThread(name, self.run, every)

    def start(self, patience: float) -> None:
        """Start the thread. Wait at most `patience` seconds for the first result."""
        self._thread.start()
        self._first.wait(patience)

    def stop(self) -> None:
        """Stop the thread after a running check."""
        self._thread.stop()

    def run(self) -> None:
        """Check now."""
        self._began = self._clock()
        self._value = self._check()
        self._ended, self._began = self._clock(), None
        self._first.set()

    def result(self) -> CheckResult[T]:
        """Return the last result without waiting."""
        value, ended, began, now = self._value, self._ended, self._began, self._clock()
        late = began is not None and now - began > self._limit
        return CheckResult(value, None if ended is None else max(now - ended, 0.0), late or ended is None)
