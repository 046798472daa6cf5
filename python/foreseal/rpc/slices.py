"""Long work on the event loop, in slices: one slice an iteration of the loop, in turns."""

import asyncio
from collections import deque


class Slices:
    """Lets one piece of long work run in each iteration of the event loop. Used from that loop's thread only.

    What is long delays others by one slice, however many callers have long work.
    """

    def __init__(self) -> None:
        self._is_taken = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def begin(self) -> None:
        """Wait for a slice; `end` must follow in the same iteration of the loop."""
        if not self._is_taken:
            self._is_taken = True
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # The slice was handed over and is not used.
                self.end()
            raise

    def end(self) -> None:
        """End the slice: the next one begins in the next iteration of the loop."""
        asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._is_taken = False
