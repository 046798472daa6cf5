"""Histograms of a metrics page."""

import math

import pytest
from benches.cluster.cost_figures import merged, read_counter
from benches.cluster.histogram import Histogram, read_histogram

PAGE = """\
# TYPE append_seconds histogram
append_seconds_bucket{le="0.001"} 0
append_seconds_bucket{le="0.01"} 90
append_seconds_bucket{le="0.1"} 99
append_seconds_bucket{le="+Inf"} 100
append_seconds_sum 1.5
append_seconds_count 100
steps_total{kind="a"} 3
steps_total{kind="b"} 4
steps_total_other 9
"""


def read() -> Histogram:
    histogram = read_histogram(PAGE, "append_seconds")
    assert histogram is not None
    return histogram


def test_page_without_the_name_has_no_histogram() -> None:
    assert read_histogram(PAGE, "other_seconds") is None


def test_quantile_is_interpolated_within_its_bucket() -> None:
    histogram = read()
    assert histogram.quantile_ms(0.45) == pytest.approx(5.5)
    assert histogram.quantile_ms(0.945) == pytest.approx(55)


def test_quantile_beyond_the_last_bound_is_that_bound() -> None:
    assert read().quantile_ms(1.0) == 100.0


def test_histogram_without_observations_has_no_quantile() -> None:
    histogram = read()
    assert histogram.since(histogram).figures() == {"count": 0, "mean_ms": None, "p50_ms": None, "p99_ms": None}


def test_sum_of_histograms_counts_all_observations() -> None:
    both = merged([read(), read()])
    assert (both.count, both.total) == (200, 3.0)
    assert both.buckets[-1][0] == math.inf
    assert both.figures()["p50_ms"] == read().figures()["p50_ms"]


def test_counter_is_the_sum_of_its_samples() -> None:
    assert read_counter(PAGE, "steps_total") == 7
