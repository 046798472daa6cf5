"""Provokes alerts and waits until Prometheus reports them as firing."""

import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from alerts.scenario import Scenario
from alerts.shortened_rules import FILES, alert_names, write_shortened
from live import wait_for
from live.prometheus import Prometheus

LIMIT = 240.0
"""Seconds after which an alert counts as missing."""
_PAUSE = 1.0


@dataclass(frozen=True)
class ScenarioResult:
    """Alerts of one cause: seconds until each expected one fired, and those that fired in addition."""

    cause: str
    fired: dict[str, float]
    missing: list[str]
    additional: list[str]
    skipped: str | None = None
    """Reason why this machine cannot run the scenario."""


def run_scenario(scenario: Scenario, folder: Path, limit: float = LIMIT) -> ScenarioResult:
    """Provoke the alerts of a scenario, and wait until all have fired."""
    rules = [write_shortened(name, folder) for name in scenario.rules]
    fired: dict[str, float] = {}
    paced = threading.Event()
    with scenario.start(folder) as started, Prometheus(folder / "prometheus", started.jobs, rules) as prometheus:
        if started.is_healthy_first:
            wait_for(lambda: _is_healthy(prometheus, scenario), limit, "a state without alerts")
        began = time.monotonic()
        while not scenario.alerts <= fired.keys() and (passed := time.monotonic() - began) < limit:
            started.act()
            for name in prometheus.firing() - fired.keys():
                fired[name] = round(passed, 1)
            # The causes repeat at this rate; no result depends on it.
            paced.wait(_PAUSE)
    return ScenarioResult(
        scenario.cause,
        {name: fired[name] for name in sorted(scenario.alerts & fired.keys())},
        sorted(scenario.alerts - fired.keys()),
        sorted(fired.keys() - scenario.alerts),
    )


def _is_healthy(prometheus: Prometheus, scenario: Scenario) -> bool:
    """Return True if all targets were scraped, and none of the alerts of a scenario fires."""
    # A range of the rules must have a history before the fault.
    scraped = prometheus.query("up == 1 and count_over_time(up[1m]) >= 10")
    return 0 < len(scraped) == len(prometheus.query("up")) and not scenario.alerts & prometheus.firing()


def run_if_possible(scenario: Scenario, folder: Path) -> ScenarioResult:
    """Provoke the alerts of a scenario; without a program or right that it needs, return the reason."""
    try:
        return run_scenario(scenario, folder)
    except pytest.skip.Exception as skipped:
        return ScenarioResult(scenario.cause, {}, [], [], str(skipped))


def without_scenario(scenarios: tuple[Scenario, ...]) -> list[str]:
    """Return the alerts that no scenario provokes."""
    return sorted(alert_names(*FILES) - {name for scenario in scenarios for name in scenario.alerts})
