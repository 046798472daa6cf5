"""Interface of the node for the dispatcher: `foreseal._core.Node`, or a test double."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from foreseal.errors import RpcError

if TYPE_CHECKING:
    # The supervisor imports this module, and loads no core.
    from foreseal._core import Answered, PendingBody


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


CallOutcome = bytes | LargeResult | RpcError
"""JSON of a result, or the error in its place."""

Answer = bytes | LargeAnswer
"""JSON of the answer to a request."""

SlowCall = tuple[str, float, int, int]
"""Calls that were not quick: method, seconds of each, bytes of the results together, number."""

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


@dataclass(frozen=True, slots=True)
class EntranceLimits:
    """Limits of the entrance of requests."""

    response: int
    """Bytes of the results of a body together."""
    values: int
    """JSON values of a body."""
    depth: int
    """Nested arrays and objects of a body."""
    batch: int
    """Entries of a batch."""
    parsed: int
    """Bytes of a body above which it is not parsed at once."""
    quick: float
    """Longest time in seconds of a call that is only counted."""
    calls: int
    """Calls of all callers on worker threads."""
    costs: Mapping[str, int] = field(default_factory=dict)
    """Tokens of a call of a caller with limits, by method; 1 without an entry."""


class RequestEntrance(Protocol):
    """Entrance of request bodies: each is parsed once, and answered at once if its calls allow it."""

    def respond(
        self,
        data: bytes,
        start: int = 0,
        head: bytes | None = None,
        caller: Any = None,
        is_connection: bool = False,
        may_be_large: bool = False,
    ) -> "bytes | Answered | PendingBody | None":
        """Handle the body at `start` of `data`, and charge it to the budgets of `caller`.

        Return the response, with `head` (the first lines of an HTTP response) a whole one; `Answered` if it is not OK
        or not quick, `PendingBody` if calls are left. None: the body is large and not parsed; call this again with
        `may_be_large` when there is time. `is_connection`: each call of a batch is refused by itself.
        """

    def respond_to_frames(
        self, data: bytes, max_size: int, caller: Any = None
    ) -> "tuple[bytes, int, list[SlowCall], PendingBody | None] | None":
        """Answer the leading WebSocket frames of `data`, and charge them to the budgets of `caller`.

        Return the frames that answer them, the bytes consumed, the slow calls, and the body of the last message if it
        is not answered. Each frame is a complete text message of at most `max_size` bytes; None if the first is not.
        """

    def exclude(self, method: str) -> None:
        """Exclude `method`, which Python owns, from now on."""

    def drain_calls(self) -> list[tuple[str, int, float]]:
        """Return the quick calls since the last `drain_calls`: method, number, seconds of them together."""

    def drain_failed_calls(self) -> list[tuple[str, int, int]]:
        """Return the failed calls since the last `drain_failed_calls`: method, error code, number."""


class Core(CallReader, Protocol):
    """Interface of the running node."""

    def entrance(self, limits: EntranceLimits) -> RequestEntrance:
        """Create the entrance of requests."""

    @property
    def running(self) -> int:
        """Number of calls that are queued for, or run on, worker threads."""

    def cancel(self, ticket: int) -> None:
        """Cancel the call with this ticket before it starts, or soon after; submissions continue."""

    def view_of(self, body: "PendingBody") -> CallReader:
        """Return the view of a body's calls, which can answer further ones."""

    def event_fd(self) -> int:
        """Return a descriptor that becomes readable when `drain` has entries."""

    def drain(self) -> tuple[list[tuple[int, CallOutcome | None]], list[Notification]]:
        """Return finished work by ticket, None for a body that waits, and the notices of channels in order."""

    def subscribe(self, params: bytes) -> tuple[int, int] | None:
        """Add a subscriber to the channel that the params of eth_subscribe name.

        Return the channel and the first sequence number of the subscription. None if the params end in a cursor that is
        not the newest place. Raises `RpcError`.
        """

    def unsubscribe(self, channel: int) -> None:
        """Remove one subscriber of the channel."""
