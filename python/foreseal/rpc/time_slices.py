"""Time slices for long work on the event loop: one slice in each iteration, round-robin by caller."""

import asyncio

from foreseal.rpc.round_robin import RoundRobin


class TimeSlices:
    """Lets one slice of long work run in each iteration of the event loop. Used from that loop's thread only.

    Long work delays other requests by one slice, however many callers have such work. Callers alternate, those of the
    dedicated tier before those of the public one.
    """

    def __init__(self) -> None:
        self._is_busy = False
        self._dedicated: RoundRobin[asyncio.Future[None]] = RoundRobin()
        self._public: RoundRobin[asyncio.Future[None]] = RoundRobin()

    async def begin(self, caller: object = None, *, is_public: bool = False) -> None:
        """Wait for a slice of `caller`; `end` must follow in the same iteration of the loop."""
        if not self._is_busy:
            self._is_busy = True
            return
        turn = asyncio.get_running_loop().create_future()
        waiting = self._public if is_public else self._dedicated
        waiting.push(caller, turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # The slice was granted but is not used.
                self.end()
            raise

    def end(self) -> None:
        """End the slice: the next one begins in the next iteration of the loop."""
        asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        for waiting in (self._dedicated, self._public):
            while (turn := waiting.pop()) is not None:
                if not turn.done():
                    turn.set_result(None)
                    return
        self._is_busy = False
