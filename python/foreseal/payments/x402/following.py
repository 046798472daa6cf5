"""Doing something again and again beside an application: following what is not final."""

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

_log = logging.getLogger(__name__)


class Following:
    """A thread that calls `act` at once and then `every` so many seconds, from `with` to its end."""

    def __init__(self, act: Callable[[], None], every: float) -> None:
        self._act = act
        self._every = every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="following", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            try:
                self._act()
            except Exception:  # whatever it was, it must go on being tried
                _log.exception("what is not final could not be followed")
            if self._stop.wait(self._every):
                return
