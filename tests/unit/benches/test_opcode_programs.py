"""Programs of `make opcodes`: assembler, completeness of the rows, durations and summary."""

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest
from benches.opcodes.__main__ import report, summary
from benches.opcodes.assembler import OPCODES, AssemblyError, assemble, loop, probe, push
from benches.opcodes.geth_evm import EvmError, GethEvm, genesis, seconds
from benches.opcodes.measurement import Measurement
from benches.opcodes.node_calls import NodeCalls
from benches.opcodes.precompile_rows import PRECOMPILES
from benches.opcodes.rows import Row
from benches.opcodes.table import all_rows, select

from repository import ROOT

_MAX_STACK = 1024
_FIGURES = [
    {"name": "ADD small", "ours_mgas_s": 400.0, "geth_mgas_s": 200.0, "ratio": 2.0},
    {"name": "KZG a valid proof", "ours_mgas_s": 55.0, "geth_mgas_s": 50.0, "ratio": 1.1},
    {"name": "SHA256 1 KiB", "ours_mgas_s": 300.0, "geth_mgas_s": 320.0, "ratio": 0.938},
]
_REPORT = {
    "commit": "0123456789",
    "date": "2026-11-29T00:00:00",
    "dirty": False,
    "machine": {"processor": "a processor", "cores": 2},
    "gas": 50_000_000,
    "rounds": 3,
    "geth": "v1.17.10",
    "rows": _FIGURES,
    **summary(_FIGURES),
}


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """Return all rows."""
    return all_rows()


def test_every_defined_opcode_has_a_row(rows: list[Row]) -> None:
    subjects = {row.subject for row in rows}
    assert set(OPCODES) - subjects == set()
    assert set(PRECOMPILES) - subjects == set()
    assert subjects == set(OPCODES) | set(PRECOMPILES)
    assert len({row.name for row in rows}) == len(rows)


def test_opcodes_are_those_of_the_execution_specification() -> None:
    specification = pytest.importorskip("ethereum.forks.osaka.vm.instructions")
    # INVALID has no instruction there.
    assert set(OPCODES.values()) - {OPCODES["INVALID"]} == {each.value for each in specification.Ops}


def test_precompiles_are_those_of_the_execution_specification() -> None:
    specification = pytest.importorskip("ethereum.forks.osaka.vm.precompiled_contracts.mapping")
    assert set(PRECOMPILES.values()) == {int.from_bytes(each) for each in specification.PRE_COMPILED_CONTRACTS}


def test_numbers_become_the_shortest_push() -> None:
    assert assemble("0 1 0x100 PUSH4 7") == bytes.fromhex("5f6001610100" + "6300000007")
    assert push((1 << 256) - 1) == b"\x7f" + b"\xff" * 32


def test_label_is_the_offset_of_its_destination_in_the_program() -> None:
    assert assemble("@next JUMP :next", origin=0x10) == bytes.fromhex("610014565b")


@pytest.mark.parametrize("text", ["ADDD", "PUSH1 256", "PUSH2", "@nowhere JUMP", "-1", str(1 << 256)])
def test_text_that_is_no_program_is_an_error(text: str) -> None:
    with pytest.raises(AssemblyError):
        assemble(text)


def test_loop_jumps_to_the_copies_after_its_setup() -> None:
    code = loop("PC POP", "1 2", copies=3)
    assert code == assemble("1 2") + b"\x5b" + assemble("PC POP") * 3 + bytes.fromhex("600456")
    assert loop("@next JUMP :next", copies=2)[1:] == bytes.fromhex("610005565b" + "61000a565b" + "5f56")


def test_probe_ends_with_two_returned_words() -> None:
    assert probe("GAS POP").endswith(assemble("64 PUSH0 RETURN"))


def test_programs_have_a_deployable_size_and_many_copies(rows: list[Row]) -> None:
    for row in rows:
        copy = len(assemble(row.body))
        assert row.code.count(OPCODES["JUMPDEST"]) >= 1
        assert len(row.code) < 24 * 1024, row.name
        assert len(row.code) > min(64 * copy, 4096), row.name
        assert len(assemble(row.setup)) < _MAX_STACK, row.name


def test_rows_are_selected_by_name_and_opcode(rows: list[Row]) -> None:
    assert [row.name for row in select(rows, "add small, TLOAD")] == ["ADD small", "TLOAD", "TLOAD of many slots"]
    with pytest.raises(ValueError, match="'addd'"):
        select(rows, "ADDD")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("177.510577ms", 0.177510577), ("1.5s", 1.5), ("1m2.5s", 62.5), ("850ns", 8.5e-7), ("9µs", 9e-6)],
)
def test_durations_of_go_are_read(text: str, expected: float) -> None:
    assert seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", "5", "5 s", "s"])
def test_other_durations_are_errors(text: str) -> None:
    with pytest.raises(EvmError):
        seconds(text)


def test_genesis_has_the_gas_and_the_contracts() -> None:
    document = genesis(1_000, {0xC0DE: b"\x5b\x00"})
    assert document["gasLimit"] == "0x3e8"
    assert document["alloc"] == {f"0x{0xC0DE:040x}": {"balance": "0x1", "code": "0x5b00"}}
    assert document["config"]["osakaTime"] == 0


def test_summary_names_the_slowest_rows_and_missed_targets() -> None:
    figures = summary(_FIGURES)
    assert figures["slowest"] == ["KZG a valid proof", "SHA256 1 KiB", "ADD small"]
    assert (figures["below_min_mgas_s"], figures["below_geth"]) == (["KZG a valid proof"], ["SHA256 1 KiB"])
    assert figures["reached"] == {"mgas_s": False, "ratio": False}
    assert "Below geth: 1\n  SHA256 1 KiB: 300.0 M gas/s, geth 320.0, ratio 0.94" in report(_FIGURES)


def test_rows_without_geth_miss_no_ratio() -> None:
    figures = summary([{**each, "geth_mgas_s": None, "ratio": None} for each in _FIGURES])
    assert figures["below_geth"] == []
    assert figures["reached"]["ratio"] is None


class _Side:
    """A node, or geth, with fixed durations of its runs, in seconds."""

    def __init__(self, *durations: float) -> None:
        self.left = list(durations)

    def probe(self, row: Row, gas: int) -> bytes:
        return (3).to_bytes(32) + (32).to_bytes(32)

    def time(self, row: Row, gas: int) -> float:
        return self.left.pop(0)


@pytest.mark.parametrize(
    ("ours", "theirs", "rounds"),
    [((0.1, 9, 9), (0.2, 9, 9), 1), ((0.1, 0.2, 0.1), (0.12, 0.1, 0.12), 3), ((1.0, 2.0, 1.0), (5.0, 5.0, 9.0), 3)],
    ids=["far beyond both", "near geth", "near 60M gas/s"],
)
def test_rows_far_beyond_both_targets_have_one_round(
    rows: list[Row], ours: tuple[float, ...], theirs: tuple[float, ...], rounds: int
) -> None:
    node, geth = cast(NodeCalls, _Side(*ours)), cast(GethEvm, _Side(*theirs))
    figures = Measurement(node, geth, rounds=3, gas=50_000_000).measure_row(rows[0])
    assert figures["rounds"] == rounds
    assert figures["ours_mgas_s"] == 50 / ours[0]


def test_page_shows_missed_targets_in_bold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    files: ModuleType = importlib.import_module("result_files")
    tables: ModuleType = importlib.import_module("opcode_tables")
    monkeypatch.setattr(files, "RESULTS", tmp_path)
    assert tables.opcodes() == "Not measured: `benches/results/opcodes.json` does not exist."
    (tmp_path / "opcodes.json").write_text(json.dumps(_REPORT))
    page = tables.opcodes()
    assert "| KZG a valid proof | **55.0** | 50.0 | 1.10 |" in page
    assert "| SHA256 1 KiB | 300.0 | 320.0 | **0.94** |" in page
    assert "3 rows, up to 3 rounds of 50M gas. Rows below 60M gas/s: 1; below geth v1.17.10: 1." in page
