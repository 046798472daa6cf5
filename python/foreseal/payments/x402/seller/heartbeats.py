"""Heartbeats: renewals of the leases of runs in progress, for as long as this process lives.

A thread sends them, so a handler that blocks the event loop keeps its lease as well. It runs while there are runs.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

from foreseal.payments.ledger import LedgerError
from foreseal.payments.periodic_thread import PeriodicThread

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
        self._beating = threading.Lock()
        self._runs: list[_Run] = []
        self._thread: PeriodicThread | None = None

    @contextmanager
    def running(self, name: str, renew: Callable[[], bool], interval: int) -> Iterator[None]:
        """Call `renew` every `interval` seconds until the context ends, or `renew` returns False: the lease is lost."""
        run = _Run(name, renew, interval, self._clock() + interval)
        with self._lock:
            self._runs.append(run)
            if self._thread is None:
                self._thread = PeriodicThread("heartbeats", self.beat, self._wake_interval)
                self._thread.start()
        try:
            yield
        finally:
            self._remove(run)

    def beat(self) -> None:
        """Renew the leases that are due."""
        with self._beating:
            with self._lock:
                runs = list(self._runs)
            if not runs:
                self._end_thread()
                return
            now = self._clock()
            for run in runs:
                if run.due <= now:
                    self._renew(run, now)

    def _end_thread(self) -> None:
        with self._lock:
            if self._thread is not None and not self._runs:
                self._thread.end()
                self._thread = None

    def _renew(self, run: _Run, now: int) -> None:
        # Before the renewal, so that one with an unexpected error delays the others by one check only.
        run.due = now + run.interval
        try:
            if not run.renew():
                self._remove(run)
        except (SQLAlchemyError, LedgerError) as error:  # it is tried again until the lease ends
            _log.warning("cannot renew lease", extra={"payment": run.name, "reason": str(error)})
            run.due = now

    def _remove(self, run: _Run) -> None:
        with self._lock:
            self._runs = [other for other in self._runs if other is not run]
