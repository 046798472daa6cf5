"""Random lives: `python -m wallets.lives --lives 20 --seed 1`. A seed that failed is reproduced with `--lives 1`."""

import contextlib
import multiprocessing
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from campaign_cli import conclude, options, show
from payments.postgresql import programs, server
from wallets.lives.databases import run_part
from wallets.lives.runner import LivesReport


def main() -> int:
    """Run the lives of consecutive seeds, and return 0 if none failed."""
    parser = options("wallets.lives")
    parser.add_argument("--lives", type=int, default=20)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--processes", type=int, default=1, help="Processes that divide the seeds.")
    given = parser.parse_args()
    if given.database == "postgresql" and programs() is None:
        print("--database postgresql: skipped, no initdb and postgres on this machine")
        return 0
    report = LivesReport(given.database)
    with _server(given.database) as url:
        parts = [range(given.seed + n, given.seed + given.lives, given.processes) for n in range(given.processes)]
        part = partial(run_part, given.database, url)
        if given.processes == 1:
            report.add(part(parts[0]))
        else:
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(given.processes, context) as pool:
                for partial_report in pool.map(part, parts):
                    report.add(partial_report)
    show(report, [])
    print(report.counted)
    command = f"make wallet-lives LIVES={given.lives} SEED={given.seed}"
    return conclude(report, report.faults, given.save, (command, ("x402", "eth-account", "sqlalchemy")))


@contextlib.contextmanager
def _server(database: str) -> Iterator[str | None]:
    """Provide the URL of a PostgreSQL server, if the lives need one."""
    if database == "sqlite":
        yield None
        return
    folder = programs()
    assert folder is not None, "the programs were found before"
    with server(folder) as url:
        yield url


if __name__ == "__main__":
    sys.exit(main())
