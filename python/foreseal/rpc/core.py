"""What the dispatcher needs of the node: `foreseal._core.Node`, or a double of it in tests."""

from typing import Protocol

from foreseal.errors import RpcError

Outcome = bytes | RpcError
"""JSON bytes of a result, or the error in its place."""


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

    def drain(self) -> list[tuple[int, Outcome]]:
        """Take what core threads have finished, by ticket."""
