"""Time of the last success of repeated work, for health checks."""

from collections.abc import Callable


class TaskProgress:
    """Time of a task's last success. Its age grows while the task fails or hangs, and after its thread has ended.

    Safe to use from any thread.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Count from now. `clock` returns seconds; a monotonic clock is best."""
        self._clock = clock
        self._at = clock()

    def record(self) -> None:
        """Record a success."""
        self._at = self._clock()

    @property
    def age(self) -> float:
        """Seconds since the last success; before the first one, since the start."""
        return max(self._clock() - self._at, 0.0)
