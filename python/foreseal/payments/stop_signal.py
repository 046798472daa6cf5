"""A request to end long work, which the work checks between its steps."""

import threading
from collections.abc import Callable


class WorkStopped(Exception):
    """The work ended at a step because a stop was requested. Finished steps are stored."""


class StopSignal:
    """A request to stop. Safe to use from any thread."""

    def __init__(self, checked: Callable[[], object] = lambda: None) -> None:
        """Set up the signal. `checked` is called at each check: the work has ended a step."""
        self._checked = checked
        self._requested = threading.Event()

    def request(self) -> None:
        """Request the stop."""
        self._requested.set()

    def check(self) -> None:
        """Raise `WorkStopped` if the stop was requested."""
        self._checked()
        if self._requested.is_set():
            raise WorkStopped
