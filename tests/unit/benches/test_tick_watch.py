"""Intervals of ticks."""

from benches.cluster.tick_watch import tick_figures, tick_times


def test_two_messages_of_one_tick_count_once() -> None:
    assert tick_times([1.0, 1.005, 1.2, 1.401, 1.402]) == [1.0, 1.2, 1.401]


def test_interval_belongs_to_the_tick_that_ends_it() -> None:
    ticks = [1.0, 1.2, 1.4, 3.4, 3.6]
    before, during = tick_figures(ticks, 1.0, 2.0), tick_figures(ticks, 2.0, 4.0)
    assert (before["ticks"], during["ticks"]) == (2, 2)
    assert before["interval"]["max_ms"] == 200.0
    assert during["interval"]["max_ms"] == 2000.0


def test_phase_without_ticks_has_no_interval() -> None:
    assert tick_figures([1.0], 0.0, 2.0) == {"ticks": 0, "interval": None}
