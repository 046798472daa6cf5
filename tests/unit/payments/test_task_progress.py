"""The age of a task's last success, with a passed-in clock."""

import pytest

from foreseal.payments.stop_signal import StopSignal, WorkStopped
from foreseal.payments.task_progress import TaskProgress
from foreseal.payments.workers.worker import WorkerState


class ManualClock:
    """A clock that only a test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_age_grows_from_the_start_until_a_success() -> None:
    clock = ManualClock()
    progress = TaskProgress(clock)
    clock.now += 70
    assert progress.age == 70
    progress.record()
    assert progress.age == 0
    clock.now += 5
    assert progress.age == 5


def test_clock_that_goes_back_gives_no_negative_age() -> None:
    clock = ManualClock()
    progress = TaskProgress(clock)
    clock.now -= 30
    assert progress.age == 0


def test_each_check_of_a_stop_is_a_step() -> None:
    clock = ManualClock()
    progress = TaskProgress(clock)
    stop = StopSignal(progress.record)
    clock.now += 40
    stop.check()
    assert progress.age == 0
    stop.request()
    with pytest.raises(WorkStopped):
        stop.check()


def test_oldest_advance_in_progress_makes_the_worker_old() -> None:
    clock = ManualClock()
    state = WorkerState({}, clock=clock)
    state.running["orders", "a"] = clock()
    clock.now += 90
    state.running["orders", "b"] = clock()
    state.stepped.record()
    assert state.step_age == 90
    del state.running["orders", "a"]
    assert state.step_age == 0
