"""Bodies that contain only submissions: the core processes each as a whole and reports its completion."""

from collections.abc import Callable
from typing import Any

METHOD = "eth_sendRawTransaction"
"""The method of all calls in such a body."""


class SubmittedBody:
    """A submitted body. It acts as a future, but calls its callback at once, not in the next iteration of the loop."""

    __slots__ = ("_ended", "_notify", "begun", "calls", "is_batch", "outcomes")

    def __init__(self, notify: Callable[["SubmittedBody"], None], begun: float, calls: int, *, is_batch: bool) -> None:
        """Create it. `notify` is called with this object once `outcomes` is set, and must not raise.

        `begun` is a time of `perf_counter`.
        """
        self.begun, self.calls, self.is_batch = begun, calls, is_batch
        self.outcomes: Any = None
        """The whole answer, or `SubmissionOutcomes` if a call failed."""
        self._notify = notify
        self._ended = False

    def done(self) -> bool:
        """Return True if no callback is pending."""
        return self._ended

    def cancel(self) -> bool:
        """Cancel the callback; return True if it was pending."""
        ended, self._ended = self._ended, True
        return not ended

    def set_result(self, outcomes: Any) -> None:
        """Set the outcomes and call the callback."""
        self._ended, self.outcomes = True, outcomes
        self._notify(self)
