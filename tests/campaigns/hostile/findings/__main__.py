"""Reproduces the findings on a build: `python -m hostile.findings --foreseal PATH`."""

import argparse
import dataclasses
import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from benches.result_file import save

from hostile.build import Build
from hostile.findings import controls, durable, durations, overload, pages, processes, protocol, results
from hostile.findings.finding import Bench, Row

FINDINGS: dict[str, Callable[[Bench], None]] = {
    "S1": overload.starvation,
    "S2": overload.pongs,
    "S3": protocol.identities,
    "S4": overload.framing,
    "S5": overload.connections,
    "S6": durable.flipped_bits,
    "S7": durable.truncated_journal,
    "S8": durable.second_writer,
    "S9": protocol.incomplete,
    "S10": durable.other_signer,
    "S11": processes.wedged,
    "S12": protocol.lenient,
    "N1": results.followers,
    "N2": results.receipts,
    "N3": results.memory,
    "N4": durations.slow_transactions,
    "N5": durations.slow_calls,
    "N6": results.pending_logs,
    "N7": controls.clocks,
    "N8": controls.engine,
    "N9": controls.mining,
    "N10": pages.live_page,
    "N11": pages.logs_page,
    "N12": durations.full_blocks,
    "N13": durations.dear_checks,
}
"""Measurements by the name of the finding: S of an attack on connections and files, N of one by transactions."""


def show(row: Row) -> None:
    """Print a row once it is measured."""
    print(f"{row.finding:<4} {'OPEN  ' if row.is_open else 'CLOSED'} {row.case}: {row.measured}", flush=True)


def _chosen(given: str) -> list[str]:
    """Return the findings that an option names. Raise `SystemExit` for an unknown one."""
    names: list[str] = []
    for wanted in given.split(","):
        matches = [name for name in FINDINGS if wanted in ("all", name, name[0])]
        if not matches:
            raise SystemExit(f"--findings: {wanted!r} is no finding; they are {', '.join(FINDINGS)}")
        names += matches
    return list(dict.fromkeys(names))


def main() -> int:
    """Run the selected findings; return 0 if all are closed, 1 if one is open, 2 if one could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m hostile.findings")
    parser.add_argument("--foreseal", type=Path, help="executable of the build; by default that of this Python")
    parser.add_argument("--findings", default="all", help="S1,N2 and so on, or S or N for a series; all by default")
    parser.add_argument("--addresses", default="1,10,100", help="numbers of hostile addresses of S1")
    parser.add_argument("--seconds", type=float, default=6.0, help="length of each attack")
    parser.add_argument("--save", type=Path)
    given = parser.parse_args()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, 65536), limit))
    build = Build(given.foreseal) if given.foreseal else Build.beside()
    names = _chosen(given.findings)
    failed = {}
    with tempfile.TemporaryDirectory(prefix="foreseal-findings-") as folder:
        addresses = tuple(int(count) for count in given.addresses.split(","))
        bench = Bench(build, Path(folder), addresses, given.seconds, on_row=show)
        for name in names:
            begin = time.monotonic()
            try:
                FINDINGS[name](bench)
            except Exception as error:  # a failed measurement must not hide the others
                failed[name] = repr(error)
                print(f"{name:<4} ERROR  {error!r}", flush=True)
            print(f"     {name} took {time.monotonic() - begin:.0f} s", flush=True)
    opened = sorted({row.finding for row in bench.rows if row.is_open}, key=list(FINDINGS).index)
    print(f"open: {', '.join(opened) or 'none'}; not measured: {', '.join(failed) or 'none'}")
    if given.save:
        report = {
            "command": "python -m hostile.findings " + " ".join(sys.argv[1:]),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": build.commit,
            "machine": {"cores": os.cpu_count(), "system": platform.release(), "load": round(os.getloadavg()[0], 1)},
            "rows": [dataclasses.asdict(row) for row in bench.rows],
            "failed": failed,
        }
        save(report, given.save)
    return 2 if failed else 1 if opened else 0


if __name__ == "__main__":
    sys.exit(main())
