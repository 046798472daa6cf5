"""Periodic work continues after any error until it is stopped."""

import queue

import pytest

from foreseal.payments.periodic_thread import PeriodicThread

LONG = 3_600.0


def test_thread_continues_after_an_unexpected_error(caplog: pytest.LogCaptureFixture) -> None:
    passes: queue.Queue[int] = queue.Queue()
    failures = iter([KeyError("nobody thought of this")])

    def act() -> None:
        passes.put(1)
        for failure in failures:
            raise failure

    with PeriodicThread("worker", act, 0.001):
        passes.get(timeout=30)
        passes.get(timeout=30)
    assert "unexpected error in worker" in caplog.text
    assert "KeyError: 'nobody thought of this'" in caplog.text


def test_thread_runs_at_start_and_wake_and_finishes_its_pass() -> None:
    passes: queue.Queue[int] = queue.Queue()
    repeating = PeriodicThread("worker", lambda: passes.put(1), LONG)
    repeating.start()
    passes.get(timeout=30)
    repeating.wake()
    passes.get(timeout=30)
    repeating.stop()
    count = passes.qsize()
    repeating.wake()
    assert passes.qsize() == count
