"""The alert rules of `deploy`, with short times: an alert fires seconds after its cause. Thresholds do not change."""

import re
from pathlib import Path
from typing import Any

import yaml

from repository import ROOT

PROMETHEUS = ROOT / "deploy" / "prometheus"
FILES = tuple(f"foreseal-{name}.rules.yml" for name in ("node", "cluster", "pay"))
_RANGE = re.compile(r"\[\d+[smhd]\]")
_SHORT_RANGE = "[20s]"
_SHORT_FOR = "1s"


def alert_names(*files: str) -> set[str]:
    """Return the names of all alerts of these files of rules."""
    return {rule["alert"] for file in files for rule in _rules(yaml.safe_load((PROMETHEUS / file).read_text()))}


def write_shortened(name: str, folder: Path) -> Path:
    """Write a file of rules with short ranges and durations, and return it."""
    content = yaml.safe_load((PROMETHEUS / name).read_text())
    for rule in _rules(content):
        rule["expr"] = _RANGE.sub(_SHORT_RANGE, rule["expr"])
        if "for" in rule:
            rule["for"] = _SHORT_FOR
    path = folder / name
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def _rules(content: Any) -> list[dict[str, Any]]:
    return [rule for group in content["groups"] for rule in group["rules"]]
