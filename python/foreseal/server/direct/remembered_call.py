"""The call that a connection answered last: most clients send the same head with every call."""

from dataclasses import dataclass

from foreseal.rpc.dispatch import Dispatcher
from foreseal.rpc.meter import Meter
from foreseal.server.access import Headers
from foreseal.server.callers import Caller

MAX_HEAD = 4 * 1024
"""Largest head that is remembered, in bytes: each connection has one."""


@dataclass(frozen=True, slots=True)
class RememberedCall:
    """A call that came in one piece: its head, and everything that was derived from it.

    It is replaced as a whole. A request with the same head and size is the same caller's.
    """

    head: bytes
    size: int
    """Bytes of head and body."""
    headers: Headers
    caller: Caller | None
    dispatcher: Dispatcher | None
    """Answers such calls on the fast path, where the caller has no bounds of its own."""

    @property
    def meter(self) -> Meter | None:
        """Budgets of the caller."""
        return None if self.caller is None else self.caller.meter


NO_CALL = RememberedCall(b"", -1, {}, None, None)
