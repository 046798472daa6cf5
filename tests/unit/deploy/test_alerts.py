"""Alert rules of `deploy/prometheus`: each has existing metrics, a runbook and unit tests."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from foreseal.server.settings import TABLE
from promql import is_external, metric_names, node_series, pay_series
from repository import DOCS, ROOT

PROMETHEUS = ROOT / "deploy" / "prometheus"
RULE_FILES = sorted(PROMETHEUS.glob("*.rules.yml"))
PAGE = DOCS / "operate" / "runbooks.md"
PARTS = ["Likely causes", "First commands", "Resolution"]
SEVERITIES = {"critical", "warning", "info"}
# Options of commands other than `run`, and of other programs.
_OTHER_OPTIONS = {"--force", "--cluster"}


def _runbooks() -> dict[str, str]:
    """Return the section of the page of each alert, by its name."""
    _, *sections = re.split(r"^## (Foreseal\w+)\n", PAGE.read_text(), flags=re.MULTILINE)
    return dict(zip(sections[::2], sections[1::2], strict=True))


def _alerts(file: Path) -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(file.read_text())["groups"] for rule in group["rules"]]


def _tests(file: Path) -> list[dict[str, Any]]:
    paths = sorted(file.parent.glob(f"{file.name.removesuffix('.rules.yml')}.*tests.yml"))
    return [test for path in paths for test in yaml.safe_load(path.read_text())["tests"]]


ALERTS = [(file, alert) for file in RULE_FILES for alert in _alerts(file)]
_IDS = [alert["alert"] for _, alert in ALERTS]


def test_alerts_of_node_cluster_and_payments_are_found() -> None:
    assert [file.name for file in RULE_FILES] == [f"foreseal-{name}.rules.yml" for name in ("cluster", "node", "pay")]
    assert len(ALERTS) > 50
    assert len(set(_IDS)) == len(_IDS)


@pytest.mark.parametrize("alert", [alert for _, alert in ALERTS], ids=_IDS)
def test_alert_has_severity_summary_description_and_runbook(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in SEVERITIES
    notes = alert["annotations"]
    assert notes.keys() == {"summary", "description", "likely_causes", "first_commands", "resolution", "runbook_url"}
    assert notes["likely_causes"].startswith("* ")
    assert notes["resolution"].startswith("1. ")
    # Text for every instance of the alert; Prometheus inserts labels and the value into the summary alone.
    assert "{{" not in "".join(text for name, text in notes.items() if name != "summary")


@pytest.mark.parametrize("alert", [alert for _, alert in ALERTS], ids=_IDS)
def test_runbook_has_expression_meaning_causes_commands_and_resolution(alert: dict[str, Any]) -> None:
    notes = alert["annotations"]
    assert ROOT / notes["runbook_url"] == PAGE.with_name(f"{PAGE.name}#{alert['alert'].lower()}")
    text = _runbooks()[alert["alert"]]
    assert re.findall(r"^\*\*(.*)\*\*$", text, re.MULTILINE) == PARTS
    assert f"Severity **{alert['labels']['severity']}**" in text
    assert f"```promql\n{alert['expr']}\n```" in text
    assert f"```text\n{notes['first_commands']}\n```" in text
    meaning, causes, resolution = (_words(notes[name]) for name in ("description", "likely_causes", "resolution"))
    assert re.search(
        rf"{re.escape(meaning)} \*\*{PARTS[0]}.* {re.escape(causes)} \*\*{PARTS[1]}.* {re.escape(resolution)}",
        _words(text),
    )


def _words(text: str) -> str:
    """Return a text without links and line breaks."""
    return " ".join(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).split())


def test_every_runbook_is_that_of_an_alert() -> None:
    assert re.findall(r"^## (Foreseal\w+)$", PAGE.read_text(), re.MULTILINE) == _IDS


def test_runbooks_name_only_options_that_exist() -> None:
    known = {setting.flag for setting in TABLE.values()} | _OTHER_OPTIONS
    mentions = {(name, option) for name, text in _runbooks().items() for option in re.findall(r"`(--[a-z-]+)", text)}
    assert len(mentions) > 15
    assert {option for _, option in mentions} <= known


@pytest.mark.parametrize("alert", [alert for _, alert in ALERTS], ids=_IDS)
def test_every_metric_of_an_alert_exists(alert: dict[str, Any]) -> None:
    names = metric_names(alert["expr"])
    assert names
    assert {name for name in names if not is_external(name)} <= node_series() | pay_series()


@pytest.mark.parametrize(("file", "alert"), ALERTS, ids=_IDS)
def test_alert_has_a_test_that_fires_and_one_that_does_not(file: Path, alert: dict[str, Any]) -> None:
    fires, quiet = False, False
    for test in _tests(file):
        series = {metric_names(each["series"]).pop() for each in test["input_series"]}
        for each in test["promql_expr_test"]:
            fires |= any(f'alertname="{alert["alert"]}"' in sample["labels"] for sample in each["exp_samples"])
            # An alert that is quiet only because its metrics are missing proves nothing.
            quiet |= each["exp_samples"] == [] and metric_names(alert["expr"]) <= series
    assert (fires, quiet) == (True, True)


def test_names_of_metrics_are_found_in_expressions() -> None:
    assert metric_names('sum by (le) (rate(a_bucket{x="y"}[5m] offset 1h)) > 2e3 or time() - b unless on (i) c') == {
        "a_bucket",
        "b",
        "c",
    }
