"""State of one HTTP connection, and the questions that are asked of it."""

import asyncio
from collections.abc import Callable
from typing import Any

from foreseal._core import RepeatedRequests
from foreseal.rpc.completions import BodyWait
from foreseal.server.auth.callers import Caller, Peer
from foreseal.server.native.backlog import Pause
from foreseal.server.native.cached_call import NO_CALL
from foreseal.server.native.call_request import CallRequest
from foreseal.server.native.connection_owner import ConnectionOwner
from foreseal.server.native.connection_table import IDLE, NEVER, UNFINISHED, AddressAccount
from foreseal.server.native.input_buffer import InputBuffer


class HttpState(asyncio.Protocol):
    """State of a connection. Used from the event loop's thread only."""

    account: AddressAccount
    sender: AddressAccount

    def __init__(self, owner: ConnectionOwner, resume: Callable[[], None]) -> None:
        """Create the state of a new connection. `resume` continues reading after a pause."""
        self._owner = owner
        self._handler = owner.handler
        self._intake = InputBuffer()
        self._transport: Any = None
        self._peer: Peer = None
        # The call whose body is being read.
        self._request: CallRequest | None = None
        self._answering: asyncio.Task[None] | BodyWait | None = None
        self._blocked = False
        """True while the client does not read the responses."""
        self._ending = False
        """True if no further request is answered: further input is dropped."""
        self._half_closed = False
        self._finishing = False
        """True if the response to the current request closes the connection."""
        self._reading = True
        # While it lasts, the input waits.
        self._pause = Pause(owner.loop, resume)
        self._refusals = 0
        self._dropped = 0
        self._repeated = RepeatedRequests(self, owner.clock)
        # The event loop calls it, without an entry in the class.
        self.data_received = self._repeated.receive  # type: ignore[method-assign]
        self.in_flight = self.request_bytes = 0
        self.max_bytes = owner.table.limits.connection_bytes
        # Size of the body of the current call.
        self._body_size = 0
        self._remembered = NO_CALL

    @property
    def since(self) -> float:
        """Start of being idle, of closing or of being blocked, or time at which its unfinished head began."""
        return self._repeated.since

    @since.setter
    def since(self, time: float) -> None:
        self._repeated.since = time

    def rank(self) -> int:
        """Return the rank of the connection for eviction."""
        if self._answering is not None:
            return NEVER
        if self._blocked or self._request is not None or self._intake.left or self._ending:
            return UNFINISHED
        return IDLE

    def _is_served_now(self, caller: Caller) -> bool:
        """Return True if a call of the remembered caller is answered at once, without parsing its head."""
        if caller.key is None:
            return not self._is_late()
        return self._handler.is_valid(caller)

    def _is_late(self) -> bool:
        """Return True if its input must wait in the backlog."""
        return self.sender.is_limited and self._owner.backlog.is_late()

    def _can_advance(self) -> bool:
        return self._answering is None and not self._blocked and not self._ending and not self._pause.is_on

    def _is_idle(self) -> bool:
        """Return True if nothing is in progress."""
        return self._request is None and self._can_advance()
