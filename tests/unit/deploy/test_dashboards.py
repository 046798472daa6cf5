"""The Grafana dashboards match the tables of metrics."""

import json
import subprocess
import sys
from typing import Any

import pytest

from promql import metric_names, node_series, pay_series
from repository import ROOT

GRAFANA = ROOT / "deploy" / "grafana"
SERIES = {"foreseal-node.json": node_series, "foreseal-pay.json": pay_series}


def _panels(name: str) -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = json.loads((GRAFANA / name).read_text())["panels"]
    return panels


def test_generated_dashboards_are_up_to_date() -> None:
    ended = subprocess.run(
        [sys.executable, "deploy/grafana/render.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.parametrize("name", SERIES)
def test_each_query_reads_an_existing_metric(name: str) -> None:
    expressions = [target["expr"] for panel in _panels(name) for target in panel.get("targets", ())]
    assert len(expressions) > 20
    assert set().union(*map(metric_names, expressions)) <= SERIES[name]()


@pytest.mark.parametrize("name", SERIES)
def test_panels_have_ids_and_do_not_overlap(name: str) -> None:
    panels = _panels(name)
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        own = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not own & cells
        cells |= own
    assert max(x for x, _ in cells) < 24
