"""Output and exit code of a campaign's results."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest

from campaign_cli import conclude, options, show


@dataclass
class CampaignSummary:
    """A summary whose faults are counted by kind."""

    seed: int
    faults: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return f"seed {self.seed}"


def test_campaign_saves_faults_by_kind_and_exits_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = options("x").parse_args(["--seed", "7", "--save", str(tmp_path / "found.json")])
    summary = CampaignSummary(given.seed, Counter(lost=2))
    show(summary, ["a", "b"])
    assert capsys.readouterr().out == "seed 7\na\nb\n"
    assert conclude(summary, ["a", "b"], given.save, ("make x", ("orjson",))) == 1
    kept = orjson.loads(given.save.read_bytes())
    assert (kept["command"], kept["summary"], kept["figures"]) == (
        "make x",
        "seed 7",
        {"seed": 7, "faults": {"lost": 2}},
    )
    assert conclude([summary, summary], [], given.save, ("make x", ())) == 0
    assert orjson.loads(given.save.read_bytes())["summary"] == ["seed 7", "seed 7"]
    assert conclude(summary, [], None, ("make x", ())) == 0


def test_data_of_a_campaign_remains_only_with_faults(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    assert conclude(CampaignSummary(1), ["a"], None, ("make x", ()), data) == 1
    assert data.exists()
    assert conclude(CampaignSummary(1), [], None, ("make x", ()), data) == 0
    assert not data.exists()
