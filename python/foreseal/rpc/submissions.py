"""Bodies of nothing but submissions: handed to the core as a whole, and told of when they are answered."""

from collections.abc import Callable
from typing import Any

METHOD = "eth_sendRawTransaction"
"""The method of all calls in such a body."""

JSON = b'"eth_sendRawTransaction"'
"""What every such body has in it."""


class Submitted:
    """A body under way. It stands where a future would, but whoever waits is called without a turn of the loop."""

    __slots__ = ("_ended", "_tell", "begun", "body", "calls", "is_batch", "outcomes")

    def __init__(
        self, body: bytes, tell: Callable[["Submitted"], None], begun: float, calls: int, *, is_batch: bool
    ) -> None:
        """`tell` is called with this once `outcomes` is there, and must not raise.

        `begun` is a time of `perf_counter`.
        """
        self.body, self.begun, self.calls, self.is_batch = body, begun, calls, is_batch
        self.outcomes: Any = None
        """The whole answer, `Outcomes` where a call failed, or the `RpcError` for which the core took none of them."""
        self._tell = tell
        self._ended = False

    def done(self) -> bool:
        """Whether nobody waits any more."""
        return self._ended

    def cancel(self) -> bool:
        """Do not tell; whether there was something to cancel."""
        ended, self._ended = self._ended, True
        return not ended

    def set_result(self, outcomes: Any) -> None:
        """Tell who waits."""
        self._ended, self.outcomes = True, outcomes
        self._tell(self)
