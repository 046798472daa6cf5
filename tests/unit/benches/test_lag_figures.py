"""Lags of replicas."""

import pytest
from benches.cluster.lag_figures import lag_figures, lag_histogram, lags, same_order
from benches.cluster.replica_lag import problems


def test_lags_before_the_warm_up_are_not_counted() -> None:
    assert lags({"a": 1.0, "b": 2.0}, {"a": 1.5, "b": 2.25}, first=1.5) == [0.25]


def test_transaction_that_was_not_shown_is_an_error() -> None:
    with pytest.raises(ValueError, match="1 of 2"):
        lags({"a": 1.0, "b": 2.0}, {"a": 1.5}, first=0.0)


def test_histogram_counts_every_lag_once() -> None:
    durations = [-0.001, 0.001, 0.0015, 0.03, 2.0]
    counts = lag_histogram(durations)
    assert sum(counts.values()) == len(durations)
    assert (counts["<= 1 ms"], counts["<= 2 ms"], counts["<= 50 ms"], counts["> 1000 ms"]) == (2, 1, 1, 1)


def test_worst_process_is_not_hidden_by_the_others() -> None:
    figures = lag_figures([[0.001] * 999, [0.5]])
    assert figures["p99_ms"] == 1.0
    assert figures["worst_process_p99_ms"] == 500.0


def test_other_order_or_missing_transaction_is_found() -> None:
    assert same_order(["a", "b", "c"], ["b", "c"])
    assert not same_order(["a", "b", "c"], ["a", "c", "b"])
    assert not same_order(["a", "b", "c"], ["a", "c"])
    assert not same_order(["a"], [])


def test_failed_check_is_a_problem() -> None:
    good = {"followers": 1, "same_order": True, "repeated": 0}
    assert problems([good, good | {"different_appends": 0, "reader_failures": []}]) == []
    assert len(problems([good | {"same_order": False}, good | {"different_appends": 2}])) == 2
