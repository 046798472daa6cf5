"""The short form: a few causes. `make alerts` provokes all."""

from pathlib import Path

import pytest

from alerts.campaign import run_scenario, without_scenario
from alerts.scenario import Scenario
from alerts.scenarios import SCENARIOS
from alerts.shortened_rules import FILES, alert_names, write_shortened

_SHORT = ("a stopped merchant service", "a worker that dies", "a disk that reports read errors")


def test_every_expected_alert_is_one_of_the_rules_of_its_scenario() -> None:
    for scenario in SCENARIOS:
        assert scenario.alerts
        assert scenario.alerts <= alert_names(*scenario.rules)


def test_every_alert_has_a_scenario() -> None:
    assert len(alert_names(*FILES)) > 50
    assert without_scenario(SCENARIOS) == []


def test_shortened_rules_have_the_same_alerts(tmp_path: Path) -> None:
    text = write_shortened(FILES[0], tmp_path).read_text()
    assert all(f"alert: {name}" in text for name in alert_names(FILES[0]))
    assert "[5m]" not in text


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "scenario", [each for each in SCENARIOS if each.cause in _SHORT], ids=lambda scenario: scenario.cause
)
def test_provoked_alerts_fire(scenario: Scenario, tmp_path: Path) -> None:
    assert run_scenario(scenario, tmp_path).missing == []
