"""What the dispatcher needs of the node: `foreseal._core.Node`, or a double of it in tests."""

from typing import Any, Protocol

from foreseal.errors import RpcError

Outcome = bytes | RpcError
"""JSON bytes of a result, or the error in its place."""

Outcomes = list[tuple[bytes, Outcome]]
"""Of the calls of a body that was handed over as a whole, each with the JSON of its id."""

Place = tuple[int, int, str]
"""Number, index and hash of a step."""

Notice = tuple[int, int, list[str] | None, Place]
"""Channel, sequence, the JSON of each `result` (None: the channel lost something), newest step after it."""


class Reader(Protocol):
    """Answers methods: the node itself, or one pinned view of it."""

    def call(self, method: str, params: bytes, ticket: int, caller: Any = None) -> bytes | None:
        """Answer at once with JSON bytes or by raising `RpcError`; None when the outcome comes later under `ticket`.

        `caller` is a `foreseal._core.Caller`, whose turn and budget it uses; those without one share a turn.
        """


Slow = tuple[str, float, int]
"""A call that was not quick: its method, seconds, and bytes of its result."""


class Inline(Protocol):
    """The short way of calls that run at once and change nothing: from body to answer in one go."""

    def answer(self, data: bytes, start: int = 0, head: bytes | None = None) -> tuple[bytes, list[Slow]] | None:
        """The answer to the body at `start` of `data`; None where it has to go the long way: then nothing was done.

        With `head`, the first lines of an HTTP response, it is a whole response.
        """

    def converse(self, data: bytes, most: int) -> tuple[bytes, int, list[Slow]] | None:
        """The frames that answer the WebSocket frames at the beginning of `data`, and how many of its bytes those take.

        They are whole texts of `most` bytes at most that have a short way; None where it begins with something else.
        """

    def leave_out(self, method: str) -> None:
        """Calls of `method`, if there is one, go the long way from now on."""

    def take(self) -> list[tuple[str, int, float]]:
        """The quick calls since the last time: method, how many, seconds of them together."""


class Core(Reader, Protocol):
    """The running node."""

    def inline(self, response: int, depth: int, batch: int, quick: float) -> Inline:
        """The short way: for answers of `response` bytes, bodies nested `depth` deep and batches of `batch` at most.

        What takes at most `quick` seconds is counted there, the rest told.
        """

    def cancel(self, ticket: int) -> None:
        """End the call with this ticket before it begins, or soon after; submissions go on."""

    def hand_over(
        self,
        data: bytes,
        start: int,
        within: tuple[int, int, int],
        ticket: int,
        head: bytes | None = None,
        caller: Any = None,
    ) -> tuple[int, bool] | None:
        """Hand the body at `start` of `data` to the core threads as a whole, if it is of submissions alone.

        It is to be `within` limits: bytes of an answer, depth, calls. Under `ticket` comes later the whole answer, with
        `head`, the first lines of an HTTP response, all of that; or, where a call fails, the outcomes. How many calls
        there are, and whether it is a batch; None where it has to go the long way: then nothing was done.
        """

    def view(self) -> Reader:
        """Pin the newest view: everything it is asked is answered from that one."""

    def event_fd(self) -> int:
        """A descriptor that becomes readable when `drain` has something."""

    def drain(self) -> tuple[list[tuple[int, Outcome | Outcomes]], list[Notice]]:
        """Take what core threads have finished, by ticket, and what channels have to say, in order."""

    def subscribe(self, params: bytes) -> tuple[int, int] | None:
        """One subscriber more of the channel that the params of eth_subscribe name, and the first sequence that is its.

        None when they end in a cursor that is not the newest place. Raises `RpcError`.
        """

    def unsubscribe(self, channel: int) -> None:
        """One subscriber of the channel less."""
