"""Provokes every alert that has a cause on this machine. `make alerts` saves the result."""

import sys
import tempfile
from pathlib import Path

from alerts.campaign import ScenarioResult, run_scenario, without_scenario
from alerts.scenarios import SCENARIOS
from campaign_cli import conclude, options, show


def main() -> int:
    """Run all scenarios, or those whose cause contains a text. Return 0 if every expected alert fired."""
    parser = options("alerts")
    parser.add_argument("--cause", default="", help="run only the scenarios whose cause contains this text")
    given = parser.parse_args()
    results: list[ScenarioResult] = []
    for scenario in SCENARIOS:
        if given.cause not in scenario.cause:
            continue
        with tempfile.TemporaryDirectory(prefix="foreseal-alerts-") as folder:
            result = run_scenario(scenario, Path(folder))
        results.append(result)
        print(f"{result.cause}:", flush=True)
        for name, seconds in result.fired.items():
            print(f"  {name} fired after {seconds} s", flush=True)
        print(f"  also fired: {', '.join(result.additional) or 'none'}", flush=True)
    missing = [f"{name} did not fire: {result.cause}" for result in results for name in result.missing]
    fired = {name for result in results for name in result.fired}
    show(f"{len(fired)} alerts fired; not provoked: {', '.join(without_scenario(SCENARIOS))}", missing)
    figures = {"scenarios": results, "not_provoked": without_scenario(SCENARIOS)}
    return conclude(figures, missing, given.save, ("make alerts", ()))


if __name__ == "__main__":
    sys.exit(main())
