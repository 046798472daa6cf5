"""Delays before the restart of a process that died."""

from foreseal.supervisor.backoff import MIN_UPTIME, RestartBackoff


def test_one_that_had_worked_is_started_at_once() -> None:
    backoff = RestartBackoff()
    assert [backoff.next(MIN_UPTIME) for _ in range(5)] == [0.0] * 5


def test_one_that_dies_at_once_is_waited_for_longer_and_longer_up_to_a_bound() -> None:
    backoff = RestartBackoff()
    waits = [backoff.next(0.0) for _ in range(2000)]
    assert waits[:4] == [0.1, 0.2, 0.4, 0.8]
    assert waits == sorted(waits)
    assert max(waits) == 10.0


def test_what_worked_once_is_new_again() -> None:
    backoff = RestartBackoff()
    for _ in range(5):
        backoff.next(0.5)
    assert (backoff.next(MIN_UPTIME), backoff.next(0.0)) == (0.0, 0.1)
