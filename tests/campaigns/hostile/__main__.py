"""The campaign of hostile patterns: `python -m hostile --patterns all`. `make hostile` runs its long form."""

import argparse
import dataclasses
import os
import platform
import resource
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benches.result_file import save

from hostile.build import TRANSPORTS, Build
from hostile.campaign import Campaign, Plan
from hostile.deployment.kinds import KINDS, parse_kinds
from hostile.patterns import PATTERNS
from hostile.trial import STARVATION, Trial, worst_p99


def main() -> int:
    """Run the chosen patterns; 0 if none failed."""
    given = _parse()
    if given.list:
        for pattern in PATTERNS.values():
            print(f"{pattern.name:<24} {pattern.group:<10} {'TLS  ' if pattern.tls else '     '}{pattern.description}")
        print(f"{len(PATTERNS)} patterns: {dict(Counter(pattern.group for pattern in PATTERNS.values()))}")
        return 0
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, 65536), limit))
    build = Build(given.foreseal) if given.foreseal else Build.beside()
    transports = TRANSPORTS if given.transport == "both" else (given.transport,)
    trials: list[Trial] = []
    for names, addresses in _runs(given):
        plan = Plan(names, addresses, transports, given.seconds, given.calm, deployment=given.deployment)
        campaign = Campaign(build, plan, on_trial=lambda: _save(given.save, build, trials))
        campaign.trials = trials
        campaign.run()
    failed = [trial for trial in trials if trial.failures]
    if trials:
        worst = max(trials, key=lambda trial: worst_p99(trial.during) - worst_p99(trial.before))
        print(f"worst honest p99: {worst.pattern} on {worst.transport}, {worst_p99(worst.during):.0f} ms")
        fattest = max(trials, key=lambda trial: trial.during.memory_peak - trial.before.memory_end)
        grown = (fattest.during.memory_peak - fattest.before.memory_end) // 1024
        print(f"most memory: {fattest.pattern} on {fattest.transport}, +{grown} MiB")
    for trial in failed:
        failures = "; ".join(trial.failures)[:500]
        print(f"FAILED {trial.pattern} on {trial.transport}, {trial.addresses} addresses: {failures}")
    print(f"{len(trials)} trials of {len({trial.pattern for trial in trials})} patterns, {len(failed)} failed")
    return 1 if failed else 0


_DEPLOYMENT_HELP = "processes that run with the node and must follow it: " + "; ".join(
    f"{name}: {description}" for name, description in KINDS.items()
)


def _kinds(text: str) -> tuple[str, ...]:
    try:
        return parse_kinds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hostile")
    parser.add_argument("--patterns", default="all", help="names or groups, separated by commas; all by default")
    parser.add_argument("--addresses", default="1", help="numbers of hostile addresses, such as 1,10,100")
    parser.add_argument("--transport", choices=(*TRANSPORTS, "both"), default="both")
    parser.add_argument("--seconds", type=float, default=6.0, help="length of each attack")
    parser.add_argument("--calm", type=float, default=4.0, help="seconds of honest traffic before each attack")
    parser.add_argument("--foreseal", type=Path, help="executable of the build; by default that of this Python")
    parser.add_argument("--long", action="store_true", help=f"{STARVATION} from 1, 10 and 100 addresses as well")
    parser.add_argument("--deployment", type=_kinds, default=(), metavar="KIND,...", help=_DEPLOYMENT_HELP)
    parser.add_argument("--save", type=Path, help="file for the results, JSON")
    parser.add_argument("--list", action="store_true", help="show the patterns and end")
    return parser.parse_args()


def _runs(given: argparse.Namespace) -> list[tuple[list[str], list[int]]]:
    chosen = []
    for name in given.patterns.split(","):
        matches = [each.name for each in PATTERNS.values() if name in ("all", each.name, each.group)]
        if not matches:
            raise SystemExit(f"--patterns: {name!r} is neither a pattern nor a group; see --list")
        chosen += matches
    addresses = [int(count) for count in given.addresses.split(",")]
    runs = [(list(dict.fromkeys(chosen)), addresses)]
    if given.long:
        runs.insert(0, ([STARVATION], [1, 10, 100]))
    return runs


def _save(file: Path | None, build: Build, trials: Sequence[Trial]) -> None:
    """Save the results so far, so that an interrupted run loses nothing."""
    if file is None:
        return
    report = {
        "command": "python -m hostile " + " ".join(sys.argv[1:]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": build.commit,
        "machine": {"cores": os.cpu_count(), "system": platform.release(), "load": round(os.getloadavg()[0], 1)},
        "failed": sorted({f"{trial.pattern} on {trial.transport}" for trial in trials if trial.failures}),
        "trials": [dataclasses.asdict(trial) for trial in trials],
    }
    save(report, file)


if __name__ == "__main__":
    sys.exit(main())
