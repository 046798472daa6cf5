"""Metrics pages, compared with another parser, and rates between two of them."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from foreseal.top.prometheus import MetricsPage, PageChange, parse_metrics
from repository import SUPPORT

PAGE = (SUPPORT / "top" / "metrics.txt").read_text()


def change(before: str | None, after: str, seconds: float = 2.0) -> PageChange:
    return PageChange(None if before is None else parse_metrics(before), parse_metrics(after), seconds)


def test_recorded_page_has_the_series_of_another_parser() -> None:
    page = parse_metrics(PAGE)
    samples = [sample for family in text_string_to_metric_families(PAGE) for sample in family.samples]
    assert len(samples) > 300
    for sample in samples:
        values = [value for labels, value in page.series(sample.name) if dict(labels) == sample.labels]
        assert values == [sample.value]


@pytest.mark.parametrize(
    "line",
    ["", "# TYPE a counter", "a", "a{", "a nan", "a +Inf", "a 1e999", '{x="y"} 1', "1a 2", "a{} x", f"a {'1' * 5000}"],
)
def test_lines_that_are_no_samples_are_ignored(line: str) -> None:
    page = parse_metrics(f"{line}\nb 1\n")
    assert (page.total("a"), page.total("b")) == (None, 1.0)


def test_label_values_are_unescaped_and_safe_to_print() -> None:
    page = parse_metrics('a{x="say \\"hi\\" } 5",y="1\\n\\\\2\x1b[2J"} 7 123\n')
    assert list(page.series("a")) == [((("x", 'say "hi" } 5'), ("y", "1?\\2?[2J")), 7.0)]


def test_number_of_series_is_bounded() -> None:
    page = parse_metrics("".join(f'a{{x="{number}"}} 1\n' for number in range(60_000)))
    assert page.total("a") == 50_000


def test_totals_sum_the_series_with_the_labels() -> None:
    page = parse_metrics('a{p="1",q="x"} 1\na{p="2",q="x"} 2\na{p="2",q="y"} 4\n')
    assert (page.total("a"), page.total("a", q="x"), page.total("a", p="2", q="y")) == (7.0, 3.0, 4.0)
    assert (page.total("a", q="z"), page.by("a", "p"), page.by("a", "r")) == (None, {"1": 1.0, "2": 6.0}, {"-": 7.0})


def test_rates_need_two_pages_and_time_between_them() -> None:
    assert change(None, "a 5").rate("a") is None
    assert change("a 1", "a 5", 0.0).rates("a", "x") == {}
    assert change("a 1", "a 5").rate("a") == 2.0
    assert change("a 1", "b 5").rate("a") is None
    assert not change(None, "a 5").window("a").count


def test_counter_that_fell_counts_from_0_by_series() -> None:
    before, after = 'a{p="1"} 100\na{p="2"} 10\n', 'a{p="1"} 6\na{p="2"} 14\na{p="3"} 2\n'
    assert change(before, after).rates("a", "p") == {"1": 3.0, "2": 2.0, "3": 1.0}
    assert change(before, after).rate("a") == 6.0


def histogram(*counts: int) -> str:
    lines = [f'h_bucket{{le="{bound}"}} {count}' for bound, count in zip(("0.1", "0.2", "+Inf"), counts, strict=True)]
    return "\n".join([*lines, f"h_sum {counts[-1] * 0.1}", f"h_count {counts[-1]}", ""])


def test_quantiles_are_those_of_the_time_between_the_pages() -> None:
    window = change(histogram(1000, 1000, 1000), histogram(1000, 1010, 1010)).window("h")
    assert window.count == 10
    assert window.mean == pytest.approx(0.1)
    assert window.quantile(0.5) == pytest.approx(0.15)
    assert change(histogram(1, 1, 1), histogram(1, 1, 5)).window("h").quantile(0.99) == 0.2
    assert change(histogram(1, 1, 1), histogram(1, 1, 1)).window("h").quantile(0.99) is None


def test_empty_page_has_nothing() -> None:
    assert MetricsPage({}).by("a", "b") == {}
