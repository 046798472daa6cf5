"""A flipped bit of a file is detected before it is served or built upon."""

from pathlib import Path

import pytest

from damage import chain
from flips.campaign import Report, run
from flips.kind import Outcome
from flips.kinds import KINDS

# `make flips` tries a thousand of each kind.
FLIPS = 40


@pytest.fixture(scope="module")
def datadir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a chain without a running node."""
    made = tmp_path_factory.mktemp("flips") / "chain"
    chain.make(made)
    return made


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_bit_is_never_served_or_built_upon(datadir: Path, kind: str) -> None:
    report = Report(kind)
    for result in run(kind, datadir, FLIPS, seed=7):
        report.add(result)
    assert report.bad == []
    assert report.unnamed == []
    detections = report.counts.total() - report.counts[Outcome.NONE]
    assert detections > FLIPS // 5, report.counts
