"""How long the body of a request may take to come."""

import asyncio


class Bodies:
    """Requests whose bodies are being read. Used from the event loop's thread only.

    Who sends half a request takes one of the places for connections; without a limit a few of them take all. A timer
    for each request would cost more than a short call does: one timer looks at all of them, twice within the limit.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, most: int) -> None:
        """A body may take at most `most` ms, and at least half of that."""
        self.most = most
        """Milliseconds."""
        self._loop = loop
        self._interval = most / 2000
        self._round = 0
        # The round in which the reading began.
        self._reading: dict[asyncio.Task[object], int] = {}
        self._late: set[asyncio.Task[object]] = set()
        self._timer = loop.call_later(self._interval, self._look)

    def begin(self) -> asyncio.Task[object]:
        """The body of the running task's request is to be read."""
        task = asyncio.current_task()
        assert task is not None, "requests are served by tasks"
        self._reading[task] = self._round
        return task

    def end(self, task: asyncio.Task[object]) -> None:
        """It has come, or was given up."""
        self._reading.pop(task, None)

    def was_late(self, task: asyncio.Task[object]) -> bool:
        """Whether the task, just cancelled, was so because the body took too long; then it may go on."""
        if task not in self._late:
            return False
        self._late.discard(task)
        task.uncancel()
        return True

    def stop(self) -> None:
        """Look no more."""
        self._timer.cancel()

    def _look(self) -> None:
        late = [task for task, began in self._reading.items() if began < self._round]
        for task in late:
            del self._reading[task]
            self._late.add(task)
            task.cancel()
        self._round += 1
        self._timer = self._loop.call_later(self._interval, self._look)
