"""Estimate of the remaining time, and its display."""

import io

import pytest
from rich.console import Console

from foreseal.bench.plan import PHASES, BenchmarkPlan, expected_seconds
from foreseal.bench.progress import ProgressUpdate, TimeEstimate, format_seconds
from foreseal.cli.bench_progress import show_bench_progress


class FakeClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_remaining_time_follows_the_pace_and_adds_later_phases() -> None:
    clock = FakeClock()
    estimate = TimeEstimate({"reads": 40.0, "sends": 30.0}, clock)
    assert (estimate.elapsed, estimate.remaining) == (0, 70)
    estimate.update(ProgressUpdate("reads", "call", 0, 10))
    assert estimate.remaining == 70
    clock.now += 20
    estimate.update(ProgressUpdate("reads", "call", 2, 10))
    assert (estimate.elapsed, estimate.remaining) == (20, 80 + 30)
    clock.now += 60
    estimate.update(ProgressUpdate("reads", "", 10, 10))
    assert estimate.remaining == 30
    estimate.update(ProgressUpdate("sends", "native", 1, 4))
    assert estimate.remaining == 30 * 3 / 4
    clock.now += 10
    estimate.update(ProgressUpdate("sends", "native", 2, 4))
    assert estimate.remaining == 10
    estimate.update(ProgressUpdate("not expected", "", 0, 0))
    assert estimate.remaining == 0


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0s"), (59.6, "1m 00s"), (65, "1m 05s"), (3599, "59m 59s"), (3725, "1h 02m")]
)
def test_durations_are_readable(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_every_selected_phase_has_an_expected_duration() -> None:
    every = expected_seconds(BenchmarkPlan(), ["a", "b"], ["a"])
    assert list(every) == [
        *("load generator", "filling a", "filling b", "reads", "open loop", "reads after restart", "sends"),
        *("visibility on a", "notifications of a", "visibility on b", "notifications of b"),
    ]
    assert every["reads"] == 2 * every["reads after restart"]
    assert all(seconds > 0 for seconds in every.values())
    for phase in PHASES:
        assert len(expected_seconds(BenchmarkPlan(phases=frozenset({phase})), ["a"], ["a"])) >= 2 + (phase != "restart")


RUN = (
    ProgressUpdate("reads", "call, 1 connection, a", 0, 4, "repetition 1 of 2"),
    ProgressUpdate("reads", "call, 1 connection, b", 1, 4, "repetition 1 of 2"),
    ProgressUpdate("reads", "call, 1 connection, b", 2, 4, "repetition 2 of 2"),
    ProgressUpdate("reads", "call, 1 connection, a", 3, 4, "repetition 2 of 2"),
    ProgressUpdate("reads", "", 4, 4, "repetition 2 of 2"),
    ProgressUpdate("sends", "native, a", 0, 1, "repetition 1 of 1"),
    ProgressUpdate("sends", "", 1, 1, "repetition 1 of 1"),
)


def test_without_a_terminal_each_finished_part_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    clock = FakeClock()
    with show_bench_progress(TimeEstimate({"reads": 40.0, "sends": 9.0}, clock), Console(file=io.StringIO())) as show:
        for update in RUN:
            show(update)
            clock.now += 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        "reads, repetition 1 of 2: 2 of 4, 4s elapsed, about 13s left\n"
        "reads, repetition 2 of 2: 4 of 4, 10s elapsed, about 9s left\n"
        "sends, repetition 1 of 1: 1 of 1, 14s elapsed, about 0s left\n"
    )


def test_on_a_terminal_a_bar_names_the_run_and_disappears(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = io.StringIO()
    console = Console(file=drawn, force_terminal=True, width=120, color_system=None)
    with show_bench_progress(TimeEstimate({"reads": 40.0}, FakeClock()), console) as show:
        for update in RUN:
            show(update)
        text = drawn.getvalue()
    assert "reads, repetition 2 of 2" in text
    assert "3/4" in text
    assert "call, 1 connection, a" in text
    assert "0s elapsed, about 40s left" in text
    assert drawn.getvalue().endswith("\x1b[1A\x1b[2K")
    assert capsys.readouterr() == ("", "")
