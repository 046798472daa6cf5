"""Something that is done again and again in a thread, beside what else a process does."""

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

_log = logging.getLogger(__name__)


class Repeating:
    """A thread that calls `act` at once, then whenever it is woken and `every` so many seconds, until it is stopped."""

    def __init__(self, name: str, act: Callable[[], object], every: float) -> None:
        """`act` says itself what it expects to meet; what else it raises is logged, and it is called again."""
        self._act = act
        self._every = every
        self._news = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wake(self) -> None:
        """Say that there may be something to do."""
        self._news.set()

    def stop(self) -> None:
        """End; a call under way is waited for. One that never began has nothing to end."""
        self._stopping.set()
        self._news.set()
        if self._thread.ident is not None:
            self._thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._act()
            except Exception:  # whatever it is, the next time may go better than none at all
                _log.exception("%s failed in a way that nobody thought of", self._thread.name)
            self._news.wait(self._every)
            self._news.clear()
