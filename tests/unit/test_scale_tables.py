"""Arithmetic of the scale model."""

import importlib
from collections.abc import Iterator
from types import ModuleType

import pytest

from repository import ROOT


@pytest.fixture(scope="module")
def scale() -> Iterator[ModuleType]:
    """Yield the module of the tables, imported as `docs/render.py` does: with its folder on the path."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs"))
        yield importlib.import_module("scale_tables")


@pytest.mark.parametrize(("fan_out", "depth", "inner"), [(4, 5, 249), (10, 3, 99), (32, 2, 31), (1_000, 1, 0)])
def test_tree_is_as_deep_as_its_fan_out_needs(scale: ModuleType, fan_out: int, depth: int, inner: int) -> None:
    assert scale.tree_depth(1_000, fan_out) == depth
    assert scale.inner_nodes(1_000, fan_out) == inner


def test_last_level_that_is_full_adds_no_hop(scale: ModuleType) -> None:
    assert [scale.tree_depth(count, 10) for count in (10, 11, 110, 111)] == [1, 2, 2, 3]


def test_lag_of_deeper_hops_is_that_of_the_last_measured_one(scale: ModuleType) -> None:
    hops = [{"p99_ms": 5.0}, {"p99_ms": 7.0}]
    assert scale.tree_lag_ms(hops, 10) == pytest.approx(5 + 7 + 7 + 3 * scale.burst_ms(10))
    assert scale.tree_lag_ms(hops, 1_000) == pytest.approx(5 + scale.burst_ms(1_000))
