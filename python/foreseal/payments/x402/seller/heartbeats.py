"""Heartbeats: renewals of the leases of runs in progress, for as long as this process lives.

A thread sends them, so a handler that blocks the event loop keeps its lease as well. The thread exists only while a run
is in progress.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from foreseal.payments.merchant_context import inherit_context

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Run:
    name: str
    renew: Callable[[], bool]
    interval: int
    due: int


class Heartbeats:
    """Heartbeats of the runs of one process."""

    def __init__(self, clock: Callable[[], int], wake_interval: float = 1.0) -> None:
        """Set up the heartbeats. `clock` returns seconds; the thread checks every `wake_interval` seconds."""
        self._clock = clock
        self._wake_interval = wake_interval
        self._lock = threading.Lock()
        self._runs: list[_Run] = []
        self._thread: threading.Thread | None = None

    @contextmanager
    def running(self, name: str, renew: Callable[[], bool], interval: int) -> Iterator[None]:
        """Call `renew` every `interval` seconds until the context ends, or `renew` returns False: the lease is lost."""
        run = _Run(name, renew, interval, self._clock() + interval)
        with self._lock:
            self._runs.append(run)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=inherit_context(self._beat_until_idle), name="heartbeats", daemon=True
                )
                self._thread.start()
        try:
            yield
        finally:
            self._remove(run)

    def beat(self) -> None:
        """Renew the leases that are due."""
        with self._lock:
            runs = list(self._runs)
        now = self._clock()
        for run in runs:
            if run.due > now:
                continue
            try:
                is_renewed = run.renew()
            except Exception as error:  # an unreachable database is tried again until the lease ends
                _log.warning("cannot renew lease", extra={"payment": run.name, "reason": str(error)})
                continue
            run.due = now + run.interval
            if not is_renewed:
                self._remove(run)

    def _remove(self, run: _Run) -> None:
        with self._lock:
            self._runs = [other for other in self._runs if other is not run]

    def _beat_until_idle(self) -> None:
        idle = threading.Event()  # never set: its wait is the pause between two checks
        while True:
            idle.wait(self._wake_interval)
            with self._lock:
                if not self._runs:
                    self._thread = None
                    return
            try:
                self.beat()
            except Exception:  # the clock may read the chain
                _log.exception("unexpected error in the heartbeats")
