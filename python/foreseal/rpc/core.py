"""What the dispatcher needs of the node: `foreseal._core.Node`, or a double of it in tests."""

from typing import Protocol

from foreseal.errors import RpcError

Outcome = bytes | RpcError
"""JSON bytes of a result, or the error in its place."""

Place = tuple[int, int, str]
"""Number, index and hash of a step."""

Notice = tuple[int, int, list[str] | None, Place]
"""Channel, sequence, the JSON of each `result` (None: the channel lost something), newest step after it."""


class Reader(Protocol):
    """Answers methods: the node itself, or one pinned view of it."""

    def call(self, method: str, params: bytes, ticket: int) -> bytes | None:
        """Answer at once with JSON bytes or by raising `RpcError`; None when the outcome comes later under `ticket`."""


class Core(Reader, Protocol):
    """The running node."""

    def view(self) -> Reader:
        """Pin the newest view: everything it is asked is answered from that one."""

    def event_fd(self) -> int:
        """A descriptor that becomes readable when `drain` has something."""

    def drain(self) -> tuple[list[tuple[int, Outcome]], list[Notice]]:
        """Take what core threads have finished, by ticket, and what channels have to say, in order."""

    def subscribe(self, params: bytes) -> tuple[int, int] | None:
        """One subscriber more of the channel that the params of eth_subscribe name, and the first sequence that is its.

        None when they end in a cursor that is not the newest place. Raises `RpcError`.
        """

    def unsubscribe(self, channel: int) -> None:
        """One subscriber of the channel less."""
