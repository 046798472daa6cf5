"""Interface of the node for the dispatcher: `foreseal._core.Node`, or a test double."""

from typing import TYPE_CHECKING, Any, Protocol

from foreseal.errors import RpcError

if TYPE_CHECKING:
    # The supervisor imports this module, and loads no core.
    from foreseal._core import Answered, ParsedBody, Submitted


class LargeAnswer(Protocol):
    """Answer to a call with a large result, in parts."""

    def __len__(self) -> int:
        """Return the size in bytes."""

    def __bytes__(self) -> bytes:
        """Return a copy, in one part."""

    def slice(self, start: int, stop: int) -> bytes:
        """Return a copy of the bytes from `start` to `stop`, or to the end."""


class LargeResult(Protocol):
    """JSON of a result of 1 MiB or more, whose memory the core owns."""

    def __len__(self) -> int:
        """Return the size in bytes."""

    def __bytes__(self) -> bytes:
        """Return a copy."""

    def within(self, before: bytes, after: bytes, /) -> LargeAnswer:
        """Return the answer that has these bytes around the result."""


CallOutcome = bytes | LargeResult | RpcError
"""JSON of a result, or the error in its place."""

Answer = bytes | LargeAnswer
"""JSON of the answer to a request."""

SlowCall = tuple[str, float, int]
"""Method, seconds and bytes of the result of a call that was not quick."""

SubmissionOutcomes = list[tuple[bytes, CallOutcome]]
"""Outcomes of the calls of a body of submissions, each with the JSON of its id."""

StepPosition = tuple[int, int, str]
"""Number, index and hash of a step."""


class DeferredSource(Protocol):
    """Messages of a large change, rendered in chunks on request."""

    @property
    def size(self) -> int:
        """Upper bound of the size of the change as JSON, in bytes."""

    def render(self, number: int) -> tuple[list[str], bool] | None:
        """Render chunk `number`, on any thread: the JSON of each `result`, and True if it is the last chunk.

        None if the chunk before it was not rendered yet, or there is none.
        """


Notification = tuple[int, int, list[str] | DeferredSource | None, StepPosition]
"""Channel, sequence, the JSON of each `result`, place of the newest step after it.

Results that are large together are a `DeferredSource` instead. None: notices were lost.
"""


class CallReader(Protocol):
    """Answers methods: the node itself, or one pinned view of it."""

    def call(self, method: str, params: bytes, ticket: int, caller: Any = None) -> bytes | None:
        """Answer at once with JSON bytes or by raising `RpcError`; None if the outcome comes later under `ticket`.

        `caller` is a `foreseal._core.Caller` with its place in the fair queue and its budget. Calls without one share a
        place.
        """


class RequestEntrance(Protocol):
    """Entrance of request bodies: each is parsed once, and answered at once if its calls allow it."""

    def respond(
        self, data: bytes, start: int = 0, head: bytes | None = None, ticket: int | None = None, caller: Any = None
    ) -> "bytes | Answered | Submitted | ParsedBody | None":
        """Handle the body at `start` of `data`.

        Return the response, with `head` (the first lines of an HTTP response) a whole one. `Submitted`: the worker pool
        processes the body under `ticket`, for `caller`; without a ticket it does not. `ParsedBody`: the calls are still
        to run. None: so is the body, which is large; `parse` it when there is time.
        """

    def parse(self, body: bytes) -> "ParsedBody":
        """Parse a body without running any of its calls."""

    def respond_to_frames(self, data: bytes, max_size: int) -> tuple[bytes, int, list[SlowCall]] | None:
        """Return the frames that answer the leading WebSocket frames of `data`, the bytes consumed, and slow calls.

        Each answered frame is a complete text message of at most `max_size` bytes that qualifies for the fast path.
        None if the first frame does not qualify. Slow calls as in `Answered.slow`.
        """

    def exclude(self, method: str) -> None:
        """Exclude `method`, which Python owns, from the fast path from now on."""

    def drain_calls(self) -> list[tuple[str, int, float]]:
        """Return the quick calls since the last `drain_calls`: method, number, seconds of them together."""

    def drain_failed_calls(self) -> list[tuple[str, int, int]]:
        """Return the failed calls since the last `drain_failed_calls`: method, error code, number."""


class Core(CallReader, Protocol):
    """Interface of the running node."""

    def entrance(
        self, *, response: int, depth: int, batch: int, values: int, parsed: int, quick: float
    ) -> RequestEntrance:
        """Create the entrance of requests.

        Its fast path gives answers of `response` bytes at most, counts calls of at most `quick` seconds, and returns
        slower ones with their time. A body may have `values` JSON values, `depth` levels and `batch` entries; it is not
        parsed at once above `parsed` bytes.
        """

    def cancel(self, ticket: int) -> None:
        """Cancel the call with this ticket before it starts, or soon after; submissions continue."""

    def view(self) -> CallReader:
        """Pin the newest view, which then answers all calls made on it."""

    def event_fd(self) -> int:
        """Return a descriptor that becomes readable when `drain` has entries."""

    def drain(self) -> tuple[list[tuple[int, CallOutcome | SubmissionOutcomes]], list[Notification]]:
        """Return finished work by ticket, and the notices of channels in order."""

    def subscribe(self, params: bytes) -> tuple[int, int] | None:
        """Add a subscriber to the channel that the params of eth_subscribe name.

        Return the channel and the first sequence number of the subscription. None if the params end in a cursor that is
        not the newest place. Raises `RpcError`.
        """

    def unsubscribe(self, channel: int) -> None:
        """Remove one subscriber of the channel."""
