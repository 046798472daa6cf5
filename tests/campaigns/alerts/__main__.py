"""Provokes every alert whose cause this machine can have. `make alerts` saves the result."""

import sys
import tempfile
from pathlib import Path

from alerts.campaign import ScenarioResult, run_if_possible
from alerts.scenarios import SCENARIOS
from campaign_cli import conclude, options, show


def main() -> int:
    """Run all scenarios, or those whose cause contains a text. Return 0 if every expected alert fired."""
    parser = options("alerts")
    parser.add_argument("--cause", default="", help="run only the scenarios whose cause contains this text")
    given = parser.parse_args()
    results: list[ScenarioResult] = []
    not_provoked: dict[str, str] = {}
    for scenario in SCENARIOS:
        if given.cause not in scenario.cause:
            continue
        with tempfile.TemporaryDirectory(prefix="foreseal-alerts-") as folder:
            result = run_if_possible(scenario, Path(folder))
        results.append(result)
        _print_result(result)
        if result.skipped is not None:
            not_provoked |= dict.fromkeys(sorted(scenario.alerts), result.skipped)
    missing = [f"{name} did not fire: {result.cause}" for result in results for name in result.missing]
    fired = {name for result in results for name in result.fired}
    not_provoked = {name: reason for name, reason in not_provoked.items() if name not in fired}
    show(f"{len(fired)} alerts fired; not provoked: {not_provoked or 'none'}", missing)
    figures = {"scenarios": results, "not_provoked": not_provoked}
    return conclude(figures, missing, given.save, ("make alerts", ()))


def _print_result(result: ScenarioResult) -> None:
    print(f"{result.cause}:", flush=True)
    if result.skipped is not None:
        print(f"  skipped: {result.skipped}", flush=True)
        return
    for name, seconds in result.fired.items():
        print(f"  {name} fired after {seconds} s", flush=True)
    print(f"  also fired: {', '.join(result.additional) or 'none'}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
