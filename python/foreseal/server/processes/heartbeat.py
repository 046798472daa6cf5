"""Heartbeats of a process to its supervisor.

Each one proves that the event loop runs, and reports how long the node's writing thread has made no progress:

    opening, replaying   progress: a replayed record, processor time of the other threads, a read or write of the disk
    producing            progress: a tick; one is due every step
    following            progress: a frame of the sequencer; one is due every 10 s
    serving, failed ...  no progress is expected
    stopping             the process ends: no further heartbeat is expected
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

LivenessSigns = tuple[str, int, int | None, bool, int | None]
"""Result of `LivenessSource.liveness`.

Phase, count, longest normal ms between two changes of it, waits for the disk, working thread.
"""

STOPPING = "stopping"
_STARTING = frozenset({"opening", "replaying"})
_OPENING: LivenessSigns = ("opening", 0, None, False, None)
_TASKS = Path("/proc/self/task")
# CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED of the kernel: the processor time of a thread by its id.
_THREAD_CLOCK = 4 | 2


class LivenessSource(Protocol):
    """A node that reports progress."""

    def liveness(self) -> LivenessSigns:
        """Return the progress of the writing thread."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Progress of a process at one moment."""

    phase: str
    stalled: float = 0.0
    """Seconds since progress was due."""
    idle: float = 0.0
    """Trailing part of `stalled`, in seconds, in which the writing thread neither computed nor used the disk."""

    def encode(self) -> dict[str, object]:
        """Return it as a JSON object."""
        return asdict(self)


class CpuClock(Protocol):
    """Processor time and disk waits of threads of this process."""

    def others(self) -> float:
        """Return the processor seconds of all threads but the calling one."""

    def thread(self, thread: int) -> float:
        """Return the processor seconds of a thread; 0 if it has ended."""

    def waits_for_disk(self, thread: int | None) -> bool:
        """Return True if a thread, or with None any, is in uninterruptible sleep in the kernel, as on a disk."""


class LinuxCpuClock:
    """`CpuClock` of this process."""

    def others(self) -> float:
        return time.process_time() - time.thread_time()

    def thread(self, thread: int) -> float:
        try:
            return time.clock_gettime((~thread << 3) | _THREAD_CLOCK)
        except OSError:
            return 0.0

    def waits_for_disk(self, thread: int | None) -> bool:
        tasks = _TASKS.iterdir() if thread is None else (_TASKS / str(thread),)
        return any(is_in_disk_sleep(task) for task in tasks)


def is_in_disk_sleep(task: Path) -> bool:
    """Return True if the kernel reports the state D for a thread's folder in /proc."""
    try:
        stat = (task / "stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] == "D"


class ProgressMonitor:
    """Converts consecutive liveness values into heartbeats."""

    def __init__(self, interval: float, clock: CpuClock) -> None:
        """Expect values every `interval` seconds. Longer gaps do not count: the process did not run."""
        self._longest = 2 * interval
        self._clock = clock
        self._at: float | None = None
        self._marker: tuple[object, ...] = ()
        self._computed = 0.0
        self._stalled = self._idle = 0.0

    def heartbeat(self, signs: LivenessSigns, now: float) -> Heartbeat:
        """Return the heartbeat at `now`, in seconds."""
        phase, count, interval, on_disk, thread = signs
        elapsed = 0.0 if self._at is None else min(now - self._at, self._longest)
        self._at = now
        starting = phase in _STARTING
        # In steps of 1 ms: the processor time of reading the clock itself is not progress.
        marker = (phase, count, int(self._clock.others() * 1000) if starting else 0)
        if marker != self._marker or (interval is None and not starting):
            self._marker = marker
            self._stalled = self._idle = 0.0
            return Heartbeat(phase)
        self._stalled += elapsed
        self._idle += elapsed
        if self._is_busy(starting, on_disk, thread):
            self._idle = 0.0
        due = (interval or 0) / 1000
        return Heartbeat(phase, max(self._stalled - due, 0.0), max(self._idle - due, 0.0))

    def _is_busy(self, starting: bool, on_disk: bool, thread: int | None) -> bool:
        if starting:
            if self._clock.waits_for_disk(None):
                self._stalled = 0.0
            return True
        if thread is None:
            return on_disk
        before, self._computed = self._computed, self._clock.thread(thread)
        return on_disk or self._computed != before or self._clock.waits_for_disk(thread)


class HeartbeatSender:
    """Sends heartbeats from the event loop."""

    def __init__(
        self,
        send: Callable[[Heartbeat], None],
        interval: float,
        clock: CpuClock | None = None,
    ) -> None:
        """Call `send` every `interval` seconds from `start` to `stop`."""
        self.node: LivenessSource | None = None
        """The node whose progress is reported, once it is open."""
        self._send = send
        self._interval = interval
        self._monitor = ProgressMonitor(interval, clock or LinuxCpuClock())
        self._next: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Send the first heartbeat, and the others from the running event loop."""
        loop = asyncio.get_running_loop()
        # Scheduled first, so that a failed heartbeat is not the last one.
        self._next = loop.call_later(self._interval, self.start)
        signs = _OPENING if self.node is None else self.node.liveness()
        self._send(self._monitor.heartbeat(signs, time.monotonic()))

    def stop(self) -> None:
        """Send the last heartbeat, which reports that this process stops."""
        if self._next is not None:
            self._next.cancel()
            self._next = None
            self._send(Heartbeat(STOPPING))
