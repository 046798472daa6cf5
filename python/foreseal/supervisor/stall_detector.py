"""Monitor of the heartbeats of a process.

started  ->  heartbeats  ->  "stopping"  ->  ended
    busy      heartbeat          stop            longest time without a heartbeat
"""

from collections.abc import Callable
from dataclasses import dataclass

from foreseal.server.processes.heartbeat import STOPPING, Heartbeat
from foreseal.server.settings import Settings

NEVER = float("inf")
# A process that starts, computes or uses the disk may be silent for this many timeouts.
_BUSY_FACTOR = 20


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds after which a process counts as wedged; infinite for never."""

    heartbeat: float
    """Without a heartbeat, or without progress of an idle writing thread."""
    busy: float
    """Without progress of a writing thread that computes or uses the disk, and until the first heartbeat."""
    stop: float
    """From the heartbeat that reports the stop to the end of the process."""

    @classmethod
    def from_settings(cls, settings: Settings) -> "Timeouts":
        """Return the timeouts of the settings, where 0 is never."""
        listen = settings.listen
        heartbeat = listen.heartbeat_timeout / 1000
        busy = _BUSY_FACTOR * heartbeat if listen.busy_timeout is None else listen.busy_timeout / 1000
        return cls(heartbeat or NEVER, busy or NEVER, max(busy or NEVER, settings.stop_time))

    @property
    def interval(self) -> float:
        """Seconds between two heartbeats: several fit into the shorter timeout."""
        return min(0.5, self.heartbeat / 6, self.busy / 6)


class StallDetector:
    """Detects that one process is wedged. Time is passed in, in seconds."""

    def __init__(self, timeouts: Timeouts, now: float) -> None:
        """Monitor a process that is started at `now`."""
        self._timeouts = timeouts
        self._limit = timeouts.busy
        self._checked = now
        self._silent = 0.0

    def record_heartbeat(self, heartbeat: Heartbeat, now: float) -> str | None:
        """Accept a heartbeat; return the reason if it shows that the process is wedged."""
        self._checked, self._silent = now, 0.0
        self._limit = self._timeouts.stop if heartbeat.phase == STOPPING else self._timeouts.heartbeat
        if heartbeat.idle >= self._timeouts.heartbeat:
            return f"no progress for {heartbeat.idle:.1f} s while {heartbeat.phase}"
        if heartbeat.stalled >= self._timeouts.busy:
            return f"busy without progress for {heartbeat.stalled:.1f} s while {heartbeat.phase}"
        return None

    def check(self, now: float, in_disk_sleep: Callable[[], bool]) -> str | None:
        """Check the silence up to `now`; return the reason if it shows that the process is wedged.

        Call it every `Timeouts.interval`. Time between two calls beyond twice that does not count: this process did not
        run, or the machine was suspended, and the watched process with it. A process in disk sleep gets the longer
        timeout: a signal does not end that wait.
        """
        self._silent += min(now - self._checked, 2 * self._timeouts.interval)
        self._checked = now
        if self._silent < self._limit:
            return None
        if self._silent < self._timeouts.busy and in_disk_sleep():
            return None
        return f"no heartbeat for {self._silent:.1f} s"
