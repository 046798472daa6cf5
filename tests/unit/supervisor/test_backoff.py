"""Delays before the restart of a process that died."""

from foreseal.supervisor.backoff import MIN_UPTIME, RestartBackoff


def test_process_that_had_worked_is_restarted_at_once() -> None:
    backoff = RestartBackoff()
    assert [backoff.next(MIN_UPTIME) for _ in range(5)] == [0.0] * 5


def test_restart_delay_grows_up_to_a_limit() -> None:
    backoff = RestartBackoff()
    waits = [backoff.next(0.0) for _ in range(2000)]
    assert waits[:4] == [0.1, 0.2, 0.4, 0.8]
    assert waits == sorted(waits)
    assert max(waits) == 10.0


def test_restart_delay_resets_after_a_successful_run() -> None:
    backoff = RestartBackoff()
    for _ in range(5):
        backoff.next(0.5)
    assert (backoff.next(MIN_UPTIME), backoff.next(0.0)) == (0.0, 0.1)
