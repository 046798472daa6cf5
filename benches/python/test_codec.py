"""pytest-benchmark of foreseal.codec and its counterparts, grouped by what they compute."""

import pytest
from benches.python.codec_cases import Case, cases
from pytest_benchmark.fixture import BenchmarkFixture

CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("side", ["foreseal", "peer"])
def test_codec(benchmark: BenchmarkFixture, case: Case, side: str) -> None:
    benchmark.group = case.name
    benchmark(case.ours if side == "foreseal" else case.theirs)
