"""Short texts of figures."""

import pytest

from foreseal.top import formats


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "-"), (0, "0"), (7, "7"), (1.25, "1.2"), (999, "999"), (999.6, "1.0k"), (12_340, "12.3k"), (4e8, "400M")],
)
def test_counts_have_few_digits_and_a_unit(value: float | None, shown: str) -> None:
    assert formats.count(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        *((None, "-"), (0, "0"), (-5, "0"), (2e-5, "20 us"), (0.0049, "4.9 ms"), (0.34, "340 ms"), (0.9999, "1.0 s")),
        *((3.21, "3.2 s"), (59.96, "1m00s"), (307, "5m07s"), (11_520, "3h12m"), (356_400, "4d03h")),
    ],
)
def test_durations_have_two_significant_parts(seconds: float | None, shown: str) -> None:
    assert formats.duration(seconds) == shown


def test_sizes_shares_and_fees_have_their_units() -> None:
    assert [formats.size(value) for value in (None, 0, 1023, 1024, 5 << 30)] == [
        "-",
        "0 B",
        "1023 B",
        "1.0 KiB",
        "5.0 GiB",
    ]
    assert [formats.share(value) for value in (None, 0.414, 1)] == ["-", "41%", "100%"]
    assert [formats.gwei(value) for value in (None, 343_000_000, 10**14)] == ["-", "0.343 gwei", "100k gwei"]
    assert [formats.rate(value) for value in (None, 2_000)] == ["-", "2.0k/s"]
    assert [formats.integer(value) for value in (None, 1_234, 2**256 - 1)] == ["-", "1,234", "1.16e+53Y"]
