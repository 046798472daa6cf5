"""The form of result files: equal content, and one line for a row."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from benches.result_file import MAX_LINE, save
from hypothesis import given
from hypothesis import strategies as st

from repository import ROOT

_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda members: st.lists(members) | st.dictionaries(st.text(), members),
    max_leaves=30,
)


@dataclass
class _Row:
    name: str
    rate: float


@given(st.dictionaries(st.text(), _VALUES), st.sampled_from((20, MAX_LINE)))
def test_saved_report_has_equal_content(report: dict[str, Any], longest: int) -> None:
    file = Path("report.json")
    written: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benches.result_file.MAX_LINE", longest)
        patch.setattr(Path, "write_text", lambda _, text, encoding: written.append(text))
        save(report, file)
    assert json.loads(written[0]) == orjson.loads(orjson.dumps(report))


def test_each_row_is_one_line_and_numbers_share_lines(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    save({"rows": [_Row(f"row {index}", index / 8) for index in range(100)], "samples": list(range(1000))}, file)
    lines = file.read_text().splitlines()
    assert '    {"name": "row 7", "rate": 0.875},' in lines
    assert sum("rate" in line for line in lines) == 100
    assert len([line for line in lines if "rate" not in line]) < 50
    assert all(len(line) <= 120 for line in lines)


@pytest.mark.parametrize("file", sorted((ROOT / "benches" / "results").glob("*.json")), ids=lambda file: file.stem)
def test_committed_results_have_this_form(file: Path, tmp_path: Path) -> None:
    copy = tmp_path / file.name
    save(orjson.loads(file.read_bytes()), copy)
    assert copy.read_text() == file.read_text()
