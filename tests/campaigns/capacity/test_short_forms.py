"""Shape and invariants of the results of `make many-cores`, `make big-state`, `make sustained` and `make opcodes`."""

import argparse
import importlib
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from benches.big_state import __main__ as big_state
from benches.big_state.charts import charts as state_charts
from benches.big_state.memory_limit import MemoryLimitError, memory_group
from benches.big_state.state_genesis import senders, write_genesis
from benches.load.launched_node import LaunchedNode, dev_node
from benches.many_cores import __main__ as many_cores
from benches.many_cores.charts import charts as core_charts
from benches.opcodes import __main__ as opcodes
from benches.opcodes.assembler import OPCODES
from benches.opcodes.measurement import Measurement
from benches.opcodes.node_calls import NODE_OPTIONS, NodeCalls
from benches.opcodes.table import all_rows, select
from benches.sustained import __main__ as sustained
from benches.sustained.figures import charts as sustained_charts

from foreseal.bench.provenance import read_provenance
from repository import ROOT


class Page:
    """The tables of the capacity page, rendered from reports instead of saved results."""

    def __init__(self, tables: ModuleType) -> None:
        self._tables = tables
        self._reports: dict[str, dict[str, Any]] = {}
        self.parts = tuple(tables.PARTS)

    def load(self, name: str) -> dict[str, Any]:
        """Return the report in the place of a file."""
        return self._reports.get(name, {})

    def rendered(self, part: str, name: str = "", report: dict[str, Any] | None = None) -> str:
        """Return a part, rendered from a report in the place of a file."""
        if report is not None:
            self._reports[name] = read_provenance("test", ()) | {"commit": "0" * 40, "dirty": False} | report
        return str(self._tables.PARTS[part]())


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Page:
    """Return the page without any report; its module is imported as `docs/render.py` does."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    tables = importlib.import_module("capacity_tables")
    tables_page = Page(tables)
    monkeypatch.setattr(tables, "load_if_measured", tables_page.load)
    return tables_page


@pytest.mark.timeout(240)
def test_many_cores_measures_each_transport_and_number_of_workers(tmp_path: Path, page: Page) -> None:
    given = argparse.Namespace(rounds=1, seconds=0.3, rate=100.0, send_seconds=2.0, submissions=20)
    report = many_cores.measure(tmp_path, [1, 2], given)
    assert [(each["transport"], each["workers"]) for each in report["results"]] == [
        ("native", 1),
        ("native", 2),
        ("asgi", 1),
    ]
    for each in report["results"]:
        assert all(read["requests_per_second"] > 0 and read["worker_us"] > 0 for read in each["reads"].values())
        assert each["sends"]["accepted"] == 200
        assert each["sends"]["step"]["count"] > 0
        assert len(each["placement"]["workers"]) == each["workers"]
    # Workers answer reads themselves: the sequencer hardly works.
    read = report["results"][1]["reads"]["eth_getBalance"]
    assert read["sequencer_us"] < read["worker_us"] / 2
    # Without cores for all processes, rates of more workers say nothing.
    assert [row["workers"] for row in report["per_added_core"]] == ([2] if (os.cpu_count() or 1) >= 4 else [])
    assert report["send_us"]["worker"] > 0
    assert "`native`, 2" in page.rendered("capacity_workers", "many_cores.json", report)
    assert "busiest thread" in page.rendered("capacity_send_cost", "many_cores.json", report)
    assert "<polyline" in core_charts(report)


@pytest.mark.timeout(240)
def test_big_state_compares_answers_with_the_genesis(tmp_path: Path, page: Page) -> None:
    given = argparse.Namespace(
        holders=[500, 1_000],
        gas_limits=(4_000_000, 20_000_000),
        rounds=1,
        seconds=0.2,
        memory_limit=1_000_000_000,
        step="300ms",
        block_time="3s",
    )
    report = big_state.measure(tmp_path, given)
    assert [each["holders"] for each in report["results"]] == [500, 1_000]
    for each in report["results"]:
        assert each["checked_answers"] == 400
        assert [step["transfers"] for step in each["steps"]] == [11, 57]
        assert all(read["answered"] > 0 for read in each["reads"].values())
        assert each["measured_mb"]["anonymous"] <= each["measured_mb"]["peak"]
    assert [(row["from"], row["to"]) for row in report["growth"]] == [(500, 1_000)]
    if report["limited"] is not None:
        assert report["limited"]["checked_answers"] == 400
        assert 0 < report["limited"]["group_peak_mb"] <= report["limited"]["limit_mb"]
        assert "10,000 holders" in page.rendered("capacity_limited", "big_state.json", report)
    assert "| 1,000 |" in page.rendered("capacity_state", "big_state.json", report)
    assert "<polyline" in state_charts(report)


def test_node_in_a_memory_group_is_counted_there(tmp_path: Path) -> None:
    write_genesis(tmp_path / "genesis.json", 10, 30_000_000)
    try:
        with memory_group(512 << 20) as group:
            options = ("--genesis", str(tmp_path / "genesis.json"))
            with big_state.state_node(tmp_path, *options, group=group) as node:
                assert isinstance(node, LaunchedNode)
                assert group.peak() > node.usage.anonymous() / 2
    except MemoryLimitError as error:
        pytest.skip(str(error))
    assert not group.folder.exists()
    assert len(senders()) == 500


@pytest.mark.timeout(240)
def test_sustained_load_loses_nothing_and_samples_each_second(tmp_path: Path, page: Page) -> None:
    report = sustained.measure(tmp_path, seconds=12.0, subscribers=5, rate=100.0, first=100.0)
    assert report["faults"] == []
    assert report["sent"]["accepted"] == 1200
    assert report["sent"]["rejected"] == 0
    assert report["probes"] == report["probes_shown"] == 60
    assert report["subscribers"] == {"count": 5, "notifications": 300}
    assert [row["second"] for row in report["rows"]] == list(range(1, len(report["rows"]) + 1))
    assert len(report["rows"]) >= 7
    assert sum(row["included_per_second"] for row in report["rows"]) > 400
    assert all(row["anonymous_mb"] > 10 for row in report["rows"])
    assert set(report["reached"]) == {"cadence", "delay", "backlog", "memory"}
    assert "| figure | measured |" in page.rendered("capacity_sustained", "sustained.json", report)
    assert sustained_charts(report["rows"]).count("<polyline") == 6


def test_opcodes_are_measured_without_geth() -> None:
    rows = select(all_rows(), opcodes.SHORT_ROWS)
    given = argparse.Namespace(rounds=1, gas=opcodes.SHORT_GAS, no_geth=True, processor_time=False)
    report = opcodes.run(rows, given)
    assert [each["name"] for each in report["rows"]] == [row.name for row in rows]
    assert all(each["ours_mgas_s"] > 0 and each["ratio"] is None for each in report["rows"])
    assert {each["name"]: each["copy_gas"] for each in report["rows"]} == {
        "ADD small": 11,
        "KECCAK256 1 KiB": 229,
        "SLOAD cold": 2104,
        "CALL of a tiny contract": 2621,
        "CREATE of 1 KiB": 236920,
        "SHA256 1 KiB": 560,
    }
    assert report["reached"]["ratio"] is None


@pytest.mark.timeout(120)
def test_every_program_does_on_a_node_what_its_row_states(tmp_path: Path) -> None:
    with dev_node(tmp_path / "chain", *NODE_OPTIONS) as node:
        calls = NodeCalls(node.port)
        measurement = Measurement(calls, geth=None, rounds=1, gas=opcodes.GAS)
        for row in all_rows():
            assert measurement.check_probe(row) > 0, row.name
        # A byte that is no opcode of the newest fork has another error than one that lacks operands.
        errors = {byte: calls.ending(bytes([byte])) for byte in range(256)}
        undefined = {byte for byte, error in errors.items() if error == "invalid opcode"}
        assert set(range(256)) - undefined == set(OPCODES.values()), errors
        calls.close()


def test_page_states_what_was_not_measured(page: Page) -> None:
    assert len(page.parts) == 5
    for part in page.parts:
        assert page.rendered(part).startswith("Not measured: `benches/results/")
