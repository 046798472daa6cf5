"""Progress of a node in its heartbeats, with injected clocks."""

import os
import threading
import time
from pathlib import Path

from foreseal.server.processes.heartbeat import (
    Heartbeat,
    LinuxCpuClock,
    LivenessSigns,
    ProgressMonitor,
    is_in_disk_sleep,
)

INTERVAL = 0.5
# Beyond the largest ID that Linux assigns.
NO_THREAD = 2**22 + 1


class Clock:
    """Processor time and disk waits, set by a test."""

    def __init__(self) -> None:
        self.computed = 0.0
        self.on_disk = False

    def others(self) -> float:
        return self.computed

    def thread(self, thread: int) -> float:
        return self.computed

    def waits_for_disk(self, thread: int | None) -> bool:
        return self.on_disk


def producing(count: int, *, on_disk: bool = False, thread: int | None = None) -> LivenessSigns:
    return "producing", count, 200, on_disk, thread


class Process:
    """Heartbeats every half second."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.monitor = ProgressMonitor(INTERVAL, self.clock)
        self.now = 0.0

    def beat(self, signs: LivenessSigns, after: float = INTERVAL) -> Heartbeat:
        self.now += after
        return self.monitor.heartbeat(signs, self.now)

    def beats(self, signs: LivenessSigns, count: int, computed: float = 0.0) -> Heartbeat:
        """Return the last of several heartbeats with the same signs."""
        for _ in range(count):
            self.clock.computed += computed
            heartbeat = self.beat(signs)
        return heartbeat


def test_ticks_are_progress() -> None:
    process = Process()
    assert all(process.beat(producing(count)) == Heartbeat("producing") for count in range(100))


def test_missing_ticks_count_from_when_one_was_due() -> None:
    process = Process()
    process.beat(producing(1))
    assert process.beats(producing(1), 6) == Heartbeat("producing", 2.8, 2.8)
    assert process.beat(producing(2)) == Heartbeat("producing")


def test_slow_step_is_not_missing_ticks() -> None:
    process = Process()
    signs: LivenessSigns = ("producing", 1, 2_000, False, None)
    process.beat(signs)
    assert process.beats(signs, 4) == Heartbeat("producing")
    assert process.beats(signs, 2) == Heartbeat("producing", 1.0, 1.0)


def test_disk_write_is_busy() -> None:
    process = Process()
    process.beat(producing(1))
    assert process.beats(producing(1, on_disk=True, thread=7), 10) == Heartbeat("producing", 4.8, 0.0)
    # Wedged from here on.
    assert process.beats(producing(1, thread=7), 4) == Heartbeat("producing", 6.8, 1.8)


def test_computing_writer_is_busy() -> None:
    process = Process()
    process.beat(producing(1))
    process.beats(producing(1, thread=7), 10, computed=0.1)
    assert process.beats(producing(1, thread=7), 1, computed=0.1).idle == 0.0
    assert process.beats(producing(1, thread=7), 5).idle > 2.0


def test_writer_in_disk_sleep_is_busy() -> None:
    process = Process()
    process.clock.on_disk = True
    process.beat(producing(1))
    assert process.beats(producing(1, thread=7), 10).idle == 0.0


def test_pause_of_the_process_is_not_counted() -> None:
    process = Process()
    process.beat(producing(1))
    assert process.beat(producing(1), after=60.0) == Heartbeat("producing", 0.8, 0.8)


def test_start_that_computes_or_reads_is_progress() -> None:
    for signs in (("opening", 0, None, False, None), ("replaying", 5, None, False, None)):
        process = Process()
        process.beat(signs)
        assert process.beats(signs, 200, computed=0.01) == Heartbeat(signs[0])
        process.clock.on_disk = True
        assert process.beats(signs, 200).stalled <= 2 * INTERVAL
        process.clock.on_disk = False
        stuck = process.beats(signs, 200)
        assert (stuck.idle, stuck.stalled > 90) == (0.0, True)


def test_phases_without_expected_progress_are_never_stalled() -> None:
    for phase in ("serving", "failed", "disconnected", "stopped"):
        process = Process()
        assert process.beats((phase, 0, None, False, None), 500) == Heartbeat(phase)


def test_linux_shows_processor_time_of_threads() -> None:
    clock, stop, ids = LinuxCpuClock(), threading.Event(), []

    def compute() -> None:
        ids.append(threading.get_native_id())
        # More than is asserted: the clocks of process and thread are read one after the other.
        end = time.thread_time() + 0.04
        while time.thread_time() < end:
            pass
        stop.wait(30)

    before = clock.others()
    thread = threading.Thread(target=compute)
    thread.start()
    try:
        while not ids or clock.thread(ids[0]) < 0.04:
            pass
        assert clock.others() - before >= 0.02
        assert not clock.waits_for_disk(ids[0])
    finally:
        stop.set()
        thread.join()
    assert clock.thread(NO_THREAD) == 0.0


def test_disk_sleep_is_the_state_behind_the_name(tmp_path: Path) -> None:
    for name, state, expected in (("a) D (b", "S", False), ("python", "D", True), ("python", "T", False)):
        (tmp_path / "stat").write_text(f"{os.getpid()} ({name}) {state} 1 2 3")
        assert is_in_disk_sleep(tmp_path) == expected
    assert not is_in_disk_sleep(tmp_path / "gone")
