"""Series of a long run."""

from benches.cluster.process_sample import ProcessSample
from benches.cluster.soak_series import MAX_ROWS, SoakSeries


def series(count: int) -> SoakSeries:
    soak = SoakSeries()
    for number in range(count):
        soak.add(
            number,
            [ProcessSample("etcd-1", 9_000_000, number * 1_000_000, 5_000_000), ProcessSample("leader", 7, 6, 8)],
        )
    return soak


def test_summary_has_the_range_of_each_process() -> None:
    summary = series(11).summary()
    assert summary["etcd-1"]["anonymous_mb"] == {"start": 0.0, "end": 10.0, "max": 10.0}
    assert summary["etcd-1"]["anonymous_growth_of_second_half_mb"] == 5.0
    assert summary["leader"]["anonymous_growth_of_second_half_mb"] == 0.0


def test_long_series_is_thinned() -> None:
    rows = series(MAX_ROWS * 3 + 1).rows()
    assert 1 < len(rows) <= MAX_ROWS
    assert [row["seconds"] for row in rows[:2]] == [0, 4]
