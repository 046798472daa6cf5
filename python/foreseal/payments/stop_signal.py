"""A request to end long work, which the work checks between its steps."""

import threading


class WorkStopped(Exception):
    """The work ended at a step because a stop was requested. Finished steps are stored."""


class StopSignal:
    """A request to stop. Safe to use from any thread."""

    def __init__(self) -> None:
        self._requested = threading.Event()

    def request(self) -> None:
        """Request the stop."""
        self._requested.set()

    def check(self) -> None:
        """Raise `WorkStopped` if the stop was requested."""
        if self._requested.is_set():
            raise WorkStopped
