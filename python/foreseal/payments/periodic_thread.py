"""A background thread that repeats an action."""

import logging
import threading
from collections.abc import Callable
from typing import Self

from foreseal.payments.merchant_context import inherit_context

_log = logging.getLogger(__name__)


class PeriodicThread:
    """A thread that calls `act` at its start, after each `wake`, and every `every` seconds, until it is stopped."""

    def __init__(self, name: str, act: Callable[[], object], every: float) -> None:
        """Set up the thread.

        `act` handles its expected errors; any other error is logged, and `act` runs again later.
        """
        self._act = act
        self._every = every
        self._news = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=inherit_context(self._run), name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Signal that there may be work."""
        self._news.set()

    def end(self) -> None:
        """Let the thread end after any running call, without waiting for it."""
        self._stopping.set()
        self._news.set()

    def stop(self) -> None:
        """Stop the thread after any running call. Does nothing if it never started."""
        self.end()
        if self._thread.ident is not None:
            self._thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._act()
            except Exception:  # the thread survives any error, so the next call may succeed
                _log.exception("unexpected error in %s", self._thread.name)
            self._news.wait(self._every)
            self._news.clear()
