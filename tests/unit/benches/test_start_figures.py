"""Summary and table of the start figures."""

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from benches.load.start_figures import StartSample, summary

from repository import ROOT

MEMORY = {"resident_mb": 300.0, "anonymous_mb": 120.0}
REPORT = {
    "commit": "0123456789",
    "date": "2026-11-27T00:00:00",
    "dirty": False,
    "machine": {"processor": "a processor", "cores": 2},
    "starts": [{"start": "foreseal dev", "wall_ms": 250.4, "cpu_ms": 180.0}],
    "memory": {"transactions": 180_000, "sent": MEMORY, "settled": MEMORY},
    "keccak": {"ratio": 13.25, "peer": "pycryptodome 3"},
}


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[ModuleType]:
    """Yield the module of the table, which reads its results from `tmp_path`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs"))
        patch.setattr(importlib.import_module("result_files"), "RESULTS", tmp_path)
        suite = {"results": [{"chain": "foreseal", "wall_seconds": 2.9, "cpu_seconds": 3.0}]}
        (tmp_path / "testing_suite.json").write_text(json.dumps(suite))
        yield importlib.import_module("start_tables")


def test_summary_has_medians_and_the_shortest_time() -> None:
    samples = [StartSample(300, 200), StartSample(250, 190), StartSample(900, 180)]
    assert summary(samples) == {"wall_ms": 300, "shortest_ms": 250, "cpu_ms": 190}


def test_table_compares_each_figure_with_its_goal(tables: ModuleType, tmp_path: Path) -> None:
    (tmp_path / tables.RESULT).write_text(json.dumps(REPORT))
    table = tables.start_figures()
    assert "| first answer of `foreseal dev` | 250 ms | 180 ms | 250 ms |" in table
    assert "| resident after 180,000 transactions, at once | 300 MB, without files 120 MB |  | 220 MB |" in table
    assert "| 200 tests with web3.py (`make testing`) | 2.9 s | 3.0 s | 2 s of processor time |" in table


def test_a_missing_result_is_named(tables: ModuleType) -> None:
    assert tables.start_figures() == "Not measured: `benches/results/start_figures.json` does not exist."
