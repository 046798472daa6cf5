"""pytest-benchmark of foreseal and the equivalent PyPI packages, grouped by computation."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache

import pytest
from benches.python.case import Case
from benches.python.codec_cases import codec_cases
from benches.python.execution_cases import NAMES, execution_cases
from pytest_benchmark.fixture import BenchmarkFixture

SIDES = ("foreseal", "peer")
compare = cache(Case.compare)


@pytest.fixture(scope="module")
def executions() -> Iterator[dict[str, Case]]:
    with ExitStack() as chains:
        yield {case.name: case for case in execution_cases(chains)}


@pytest.mark.parametrize("case", codec_cases(), ids=lambda case: case.name)
@pytest.mark.parametrize("side", SIDES)
def test_codec(benchmark: BenchmarkFixture, case: Case, side: str) -> None:
    _measure(benchmark, case, side)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("side", SIDES)
def test_execution(benchmark: BenchmarkFixture, executions: dict[str, Case], name: str, side: str) -> None:
    _measure(benchmark, executions[name], side)


def _measure(benchmark: BenchmarkFixture, case: Case, side: str) -> None:
    benchmark.group = case.name
    compare(case)
    benchmark(case.ours if side == "foreseal" else case.theirs)
