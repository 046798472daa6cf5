"""Deferred input of connections: limits the time of each iteration of the event loop."""

import asyncio
from collections.abc import Callable

from foreseal.rpc.round_robin import RoundRobin
from foreseal.server.native.connection_table import AddressAccount

# Seconds that one iteration may spend on the input of limited addresses.
_MAX_ITERATION = 0.004


class Backlog:
    """Connections whose input waits for a later iteration of the event loop.

    An iteration reads all connections that are ready: with a call on each of thousands, every client would wait until
    all are answered. Once an iteration has taken too long, input of limited addresses waits here. It is read
    round-robin by address, one connection each. Used from the event loop's thread only.
    """

    def __init__(self, call_soon: Callable[[Callable[[], None]], object], clock: Callable[[], float]) -> None:
        """Create an empty backlog. `call_soon` calls a function in the next iteration; `clock` returns seconds."""
        self._call_soon = call_soon
        self._clock = clock
        # Time at which this iteration exceeds its limit.
        self._end = 0.0
        self._is_scheduled = False
        # By address.
        self._waiting: RoundRobin[Pause] = RoundRobin()

    def is_late(self) -> bool:
        """Return True if input must wait: this iteration has exceeded its limit, or other input waits."""
        if self._waiting:
            return True
        now = self._clock()
        if not self._is_scheduled:
            self._end = now + _MAX_ITERATION
            self._schedule()
        return now > self._end

    def add(self, address: AddressAccount, pause: "Pause") -> None:
        """End this pause when the address is next."""
        self._waiting.push(address, pause)
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._call_soon(self._begin_iteration)

    def _begin_iteration(self) -> None:
        self._is_scheduled = False
        end = self._clock() + _MAX_ITERATION
        while (pause := self._waiting.pop()) is not None:
            pause.end_iteration()
            if self._clock() > end:
                break
        if self._waiting:
            self._schedule()


class Pause:
    """A period in which a connection's input is not read."""

    __slots__ = ("_handle", "_is_in_backlog", "_loop", "_resume", "is_on")

    def __init__(self, loop: asyncio.AbstractEventLoop, resume: Callable[[], None]) -> None:
        """Create it. `resume` continues reading; it is called from the event loop."""
        self._loop = loop
        self._resume = resume
        self._handle: asyncio.Handle | None = None
        self._is_in_backlog = False
        self.is_on = False
        """True until it ends."""

    def begin(self, seconds: float) -> None:
        """Pause for `seconds`, or with 0 until the next iteration of the event loop."""
        self.cancel()
        self.is_on = True
        loop = self._loop
        self._handle = loop.call_later(seconds, self.end) if seconds else loop.call_soon(self.end)

    def wait(self, backlog: Backlog, address: AddressAccount) -> None:
        """Pause until the address is served."""
        self.cancel()
        self.is_on = True
        if not self._is_in_backlog:
            self._is_in_backlog = True
            backlog.add(address, self)

    def cancel(self) -> None:
        """End it without reading."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self.is_on = False

    def end_iteration(self) -> None:
        """End it if it still waits in the backlog and no other pause replaced it."""
        self._is_in_backlog = False
        if self.is_on and self._handle is None:
            self.end()

    def end(self) -> None:
        """End it and continue reading."""
        self.cancel()
        self._resume()
