"""Time limit for receiving the body of a request."""

import asyncio


class BodyTimeouts:
    """Requests whose bodies are being read. Used from the event loop's thread only.

    A client that sends half a request occupies a connection; without a limit a few clients could occupy all. A timer
    for each request would cost more than a short call. One timer therefore checks all requests, twice within the limit.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int) -> None:
        """Limit the time of a body to `limit` ms; it is cut off after at least half of that."""
        self.limit = limit
        """Time limit in milliseconds."""
        self._loop = loop
        self._interval = limit / 2000
        self._round = 0
        # The round in which the reading began.
        self._reading: dict[asyncio.Task[object], int] = {}
        self._late: set[asyncio.Task[object]] = set()
        self._timer = loop.call_later(self._interval, self._check_idle)

    def begin(self) -> asyncio.Task[object]:
        """Start the time limit for the body of the running task's request."""
        task = asyncio.current_task()
        assert task is not None, "requests are served by tasks"
        self._reading[task] = self._round
        return task

    def end(self, task: asyncio.Task[object]) -> None:
        """Stop the time limit: the body has arrived or was abandoned."""
        self._reading.pop(task, None)

    def was_late(self, task: asyncio.Task[object]) -> bool:
        """Return True if the task was just cancelled because its body was late; the cancellation is then undone."""
        if task not in self._late:
            return False
        self._late.discard(task)
        task.uncancel()
        return True

    def stop(self) -> None:
        """Stop the timer."""
        self._timer.cancel()

    def _check_idle(self) -> None:
        late = [task for task, began in self._reading.items() if began < self._round]
        for task in late:
            del self._reading[task]
            self._late.add(task)
            task.cancel()
        self._round += 1
        self._timer = self._loop.call_later(self._interval, self._check_idle)
