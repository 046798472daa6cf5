"""Input of connections that is read later, so that no iteration of the event loop takes long."""

import asyncio
from collections import deque
from collections.abc import Callable

from foreseal.server.direct.table import AddressAccount

# Seconds that one iteration may spend on the input of limited addresses.
_MAX_ITERATION = 0.004


class Backlog:
    """Connections with input that waits for a later iteration of the event loop.

    An iteration reads all connections that are ready: with a call on each of thousands, everybody would wait until all
    are answered. Once an iteration has taken long, input of limited addresses waits here, and addresses take turns, one
    connection each. Used from the event loop's thread only.
    """

    def __init__(self, call_soon: Callable[[Callable[[], None]], object], clock: Callable[[], float]) -> None:
        """`call_soon` calls a function in the next iteration; `clock` returns seconds."""
        self._call_soon = call_soon
        self._clock = clock
        # Time from which on this iteration has taken long.
        self._end = 0.0
        self._is_scheduled = False
        # By address; the first address has the next turn.
        self._turns: dict[AddressAccount, deque[Pause]] = {}

    def is_late(self) -> bool:
        """Return `True` if input must wait: this iteration has taken long, or other input waits."""
        if self._turns:
            return True
        now = self._clock()
        if not self._is_scheduled:
            self._end = now + _MAX_ITERATION
            self._schedule()
        return now > self._end

    def add(self, address: AddressAccount, pause: "Pause") -> None:
        """End this pause when it is the turn of the address."""
        self._turns.setdefault(address, deque()).append(pause)
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._call_soon(self._begin_iteration)

    def _begin_iteration(self) -> None:
        self._is_scheduled = False
        end = self._clock() + _MAX_ITERATION
        while self._turns:
            address = next(iter(self._turns))
            pauses = self._turns.pop(address)
            pause = pauses.popleft()
            if pauses:
                # Behind all others.
                self._turns[address] = pauses
            pause.end_turn()
            if self._clock() > end:
                break
        if self._turns:
            self._schedule()


class Pause:
    """Time in which nothing of a connection's input is read."""

    __slots__ = ("_handle", "_is_in_backlog", "_loop", "_resume", "is_on")

    def __init__(self, loop: asyncio.AbstractEventLoop, resume: Callable[[], None]) -> None:
        """`resume` reads on; it is called from the event loop."""
        self._loop = loop
        self._resume = resume
        self._handle: asyncio.Handle | None = None
        self._is_in_backlog = False
        self.is_on = False
        """`True` until it ends."""

    def begin(self, seconds: float) -> None:
        """Pause for some time, or with 0 until the next iteration of the event loop, from now on."""
        self.cancel()
        self.is_on = True
        loop = self._loop
        self._handle = loop.call_later(seconds, self.end) if seconds else loop.call_soon(self.end)

    def wait(self, backlog: Backlog, address: AddressAccount) -> None:
        """Pause until it is the turn of the address."""
        self.cancel()
        self.is_on = True
        if not self._is_in_backlog:
            self._is_in_backlog = True
            backlog.add(address, self)

    def cancel(self) -> None:
        """End it without reading on."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self.is_on = False

    def end_turn(self) -> None:
        """End it where it waited for its turn and nothing else was decided since."""
        self._is_in_backlog = False
        if self.is_on and self._handle is None:
            self.end()

    def end(self) -> None:
        """End it, and read on."""
        self.cancel()
        self._resume()
