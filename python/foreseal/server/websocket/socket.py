"""Interface of a WebSocket of either transport, with an explicit state for each side.

            client                        server
    CONNECTING  connect            CONNECTING
        |       websocket.connect      |  accept -> OPEN, or deny -> CLOSED
       OPEN                           OPEN
        |       disconnect             |  close
      CLOSED                         CLOSED

Each method checks the states that it needs; another state is a bug of the caller and raises RuntimeError. The client's
actions never are: after the client has disconnected, `receive` returns None and `send` raises `ClientDisconnected`.
"""

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, Protocol

from foreseal.rpc.outgoing_queue import NotificationBatch
from foreseal.server.http.handler import HttpResponse

if TYPE_CHECKING:
    from foreseal._core import PendingBody

# A close frame holds 125 bytes, two of them for the code.
_LONGEST_REASON = 123


StartRequest = Callable[[bytes], bool]
"""Accepts a message while no other one is being processed; False leaves it to `receive`."""

AnswerFrames = Callable[[bytes], "tuple[bytes, int, PendingBody | None] | None"]
"""Answers frames of the client while none is being processed: the frames to send, and the number of bytes consumed.

A body that is not answered is to be started once the frames are sent. None leaves the first frame to `receive`.
"""

StartBody = Callable[["PendingBody"], None]
"""Starts a body that `AnswerFrames` has returned."""


class ClientDisconnected(Exception):
    """The client has disconnected."""


class SideState(Enum):
    """State of one side."""

    CONNECTING = auto()
    OPEN = auto()
    CLOSED = auto()


class WebSocket(Protocol):
    """A WebSocket of any transport. One task may await `receive` while another awaits `send`."""

    client: SideState
    start: "StartRequest | None"
    """Receives messages as they arrive, in place of `receive`, if the transport has them without waiting."""
    answer_frames: "AnswerFrames | None"
    """Answers frames as they arrive, in place of `receive` and `send`, if the transport has them without waiting."""

    start_body: "StartBody | None"
    """Starts a body that `answer_frames` has returned."""

    def send_now(self, data: bytes) -> bool:
        """Send a UTF-8 text if that is possible without waiting; return True if it was sent."""

    def notify_now(self, prefix: bytes, messages: NotificationBatch) -> bool:
        """Send each message after a prefix if that is possible without waiting; return True if they were sent."""

    def hold(self, size: int) -> bool:
        """Count the bytes of requests in progress and of queued answers; return False if they exceed a limit."""

    async def connect(self) -> bool:
        """Accept the client's handshake; False if it has disconnected or the handshake is invalid."""

    async def accept(self, max_bytes: int) -> None:
        """Open the connection, which may have at most `max_bytes` in flight where these are counted: see `hold`."""

    async def deny(self, response: HttpResponse) -> None:
        """Answer the handshake with an HTTP response instead of a connection."""

    async def receive(self) -> bytes | None:
        """Return the next message, text or binary, as bytes; None when the client has disconnected."""

    async def send(self, text: str) -> None:
        """Send one message; return when there is room for another. Raises `ClientDisconnected`."""

    async def send_ahead(self, texts: Sequence[str], sent: Callable[[int], None]) -> None:
        """Send all messages in order; `sent` gets the number of each. Raises `ClientDisconnected`."""

    async def close(self, code: int, reason: str) -> None:
        """Close an open connection; return when the close frame is on its way. Raises `ClientDisconnected`."""


def truncate_reason(reason: str) -> str:
    """Truncate a reason to the size of a close frame."""
    return reason.encode()[:_LONGEST_REASON].decode(errors="ignore")
