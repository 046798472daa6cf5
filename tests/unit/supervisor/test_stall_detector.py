"""Detection of wedged processes, with an injected clock."""

import pytest

from foreseal.server.processes.heartbeat import STOPPING, Heartbeat
from foreseal.supervisor.stall_detector import NEVER, StallDetector, Timeouts

TIMEOUTS = Timeouts(heartbeat=3.0, busy=60.0, stop=15.0)
BEAT = Heartbeat("producing")


def check_until(watch: StallDetector, start: float, end: float, *, disk: bool = False) -> tuple[float, str] | None:
    """Check every half second; return time and reason of the first verdict."""
    now = start
    while now < end:
        now += TIMEOUTS.interval
        reason = watch.check(now, lambda: disk)
        if reason is not None:
            return now, reason
    return None


def test_silence_of_three_seconds_is_wedged() -> None:
    watch = StallDetector(TIMEOUTS, 0.0)
    assert watch.record_heartbeat(BEAT, 1.0) is None
    assert check_until(watch, 1.0, 10.0) == (4.0, "no heartbeat for 3.0 s")


def test_heartbeats_reset_the_silence() -> None:
    watch = StallDetector(TIMEOUTS, 0.0)
    for second in range(100):
        assert watch.record_heartbeat(BEAT, float(second)) is None
        assert check_until(watch, float(second), second + 1.0) is None


def test_first_heartbeat_has_the_busy_timeout() -> None:
    assert check_until(StallDetector(TIMEOUTS, 0.0), 0.0, 100.0) == (60.0, "no heartbeat for 60.0 s")


def test_pause_of_the_machine_is_not_silence() -> None:
    watch = StallDetector(TIMEOUTS, 0.0)
    watch.record_heartbeat(BEAT, 0.0)
    assert watch.check(0.5, lambda: False) is None
    # Nothing ran for a minute.
    assert watch.check(60.5, lambda: False) is None
    assert check_until(watch, 60.5, 100.0) == (62.0, "no heartbeat for 3.0 s")


def test_disk_sleep_has_the_busy_timeout() -> None:
    watch = StallDetector(TIMEOUTS, 0.0)
    watch.record_heartbeat(BEAT, 0.0)
    assert check_until(watch, 0.0, 59.0, disk=True) is None
    assert check_until(watch, 59.0, 70.0, disk=True) == (60.0, "no heartbeat for 60.0 s")


def test_stopping_process_has_the_stop_time() -> None:
    watch = StallDetector(TIMEOUTS, 0.0)
    watch.record_heartbeat(Heartbeat(STOPPING), 0.0)
    assert check_until(watch, 0.0, 100.0) == (15.0, "no heartbeat for 15.0 s")


@pytest.mark.parametrize(
    ("heartbeat", "reason"),
    [
        (Heartbeat("producing", stalled=2.9, idle=2.9), None),
        (Heartbeat("producing", stalled=3.0, idle=3.0), "no progress for 3.0 s while producing"),
        (Heartbeat("producing", stalled=59.9, idle=2.9), None),
        (Heartbeat("replaying", stalled=60.0), "busy without progress for 60.0 s while replaying"),
    ],
)
def test_heartbeat_without_progress_is_judged(heartbeat: Heartbeat, reason: str | None) -> None:
    assert StallDetector(TIMEOUTS, 0.0).record_heartbeat(heartbeat, 1.0) == reason


def test_timeout_of_never_judges_nothing() -> None:
    watch = StallDetector(Timeouts(NEVER, NEVER, NEVER), 0.0)
    assert check_until(watch, 0.0, 1000.0) is None
    assert watch.record_heartbeat(Heartbeat("producing", stalled=1e6, idle=1e6), 1000.0) is None
    assert check_until(watch, 1000.0, 2000.0) is None
