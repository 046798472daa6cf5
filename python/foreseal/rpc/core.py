"""Interface of the node for the dispatcher: `foreseal._core.Node`, or a test double."""

from typing import Any, Protocol

from foreseal.errors import RpcError

Outcome = bytes | RpcError
"""JSON bytes of a result, or the error in its place."""

Outcomes = list[tuple[bytes, Outcome]]
"""Outcomes of the calls of a body that was submitted as a whole, each with the JSON of its id."""

Place = tuple[int, int, str]
"""Number, index and hash of a step."""

Notice = tuple[int, int, list[str] | None, Place]
"""Channel, sequence, the JSON of each `result` (None: notices were lost), place of the newest step after it."""


class Reader(Protocol):
    """Answers methods: the node itself, or one pinned view of it."""

    def call(self, method: str, params: bytes, ticket: int, caller: Any = None) -> bytes | None:
        """Answer at once with JSON bytes or by raising `RpcError`; None if the outcome comes later under `ticket`.

        `caller` is a `foreseal._core.Caller` with its place in the fair queue and its budget. Calls without one share a
        place.
        """


Slow = tuple[str, float, int]
"""A call that was not quick: its method, seconds, and bytes of its result, 0 for an error."""


class Inline(Protocol):
    """The fast path of calls that run at once and change nothing. Their errors are final."""

    def answer(self, data: bytes, start: int = 0, head: bytes | None = None) -> tuple[bytes, list[Slow]] | None:
        """Answer the body at `start` of `data`; None if it must take the slow path: then nothing was done.

        With `head`, the first lines of an HTTP response, the result is a whole response.
        """

    def converse(self, data: bytes, most: int) -> tuple[bytes, int, list[Slow]] | None:
        """Return the frames that answer the leading WebSocket frames of `data`, and the number of bytes consumed.

        Each answered frame is a complete text message of at most `most` bytes that qualifies for the fast path. None if
        the first frame does not qualify.
        """

    def leave_out(self, method: str) -> None:
        """Exclude `method`, which Python owns, from the fast path from now on."""

    def take(self) -> list[tuple[str, int, float]]:
        """Return the quick calls since the last `take`: method, number, seconds of them together."""

    def take_failed(self) -> list[tuple[str, int, int]]:
        """Return the failed calls since the last `take_failed`: method, error code, number."""


class Core(Reader, Protocol):
    """Interface of the running node."""

    def inline(self, response: int, depth: int, batch: int, quick: float) -> Inline:
        """Create the fast path.

        It serves answers of `response` bytes, bodies nested `depth` deep and batches of `batch` calls at most. It
        counts calls of at most `quick` seconds and returns slower ones with their time.
        """

    def cancel(self, ticket: int) -> None:
        """Cancel the call with this ticket before it starts, or soon after; submissions continue."""

    def hand_over(
        self,
        data: bytes,
        start: int,
        within: tuple[int, int, int],
        ticket: int,
        head: bytes | None = None,
        caller: Any = None,
    ) -> tuple[int, bool] | None:
        """Submit the body at `start` of `data` to the worker pool as a whole, if it contains only submissions.

        It must be `within` limits: bytes of an answer, depth, calls. Return the number of calls, and True if the body
        is a batch; None if it must take the slow path: then nothing was done. `drain` returns the whole answer under
        `ticket`, as a whole HTTP response if `head` has its first lines. If a call fails, it returns the outcomes
        instead.
        """

    def view(self) -> Reader:
        """Pin the newest view, which then answers all calls made on it."""

    def event_fd(self) -> int:
        """Return a descriptor that becomes readable when `drain` has entries."""

    def drain(self) -> tuple[list[tuple[int, Outcome | Outcomes]], list[Notice]]:
        """Return finished work by ticket, and the notices of channels in order."""

    def subscribe(self, params: bytes) -> tuple[int, int] | None:
        """Add a subscriber to the channel that the params of eth_subscribe name.

        Return the channel and the first sequence number of the subscription. None if the params end in a cursor that is
        not the newest place. Raises `RpcError`.
        """

    def unsubscribe(self, channel: int) -> None:
        """Remove one subscriber of the channel."""
