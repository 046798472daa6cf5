"""The long form: ten thousand payments, and a comparison of the export with the chain.

`make reconcile` saves its result.
"""

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from campaign_cli import conclude, options, show
from live import live_node
from payments.api.serving import api_key, configure, serving
from payments.postgresql import programs, server
from reconcile.campaign import Campaign, Summary

POLICY = """[policy]
refundable = "confirmed"
"""


def main() -> int:
    """Run it and return 0 if every sum matches the chain."""
    parser = options("reconcile")
    parser.add_argument("--payments", type=int, default=10_000)
    parser.add_argument("--postgresql", action="store_true", help="in place of SQLite")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="foreseal-") as name,
        database(Path(name), postgresql=given.postgresql) as url,
        live_node("--payments", "--step", "200ms") as node,
    ):
        config = configure(Path(name), node.url, url, more=POLICY)
        key = api_key(config)
        summary = Summary(given.payments, "PostgreSQL" if given.postgresql else "SQLite")
        with serving(config) as service:
            Campaign(node, service, key, summary).run()
    show(summary, summary.faults)
    more = f"PAYMENTS={given.payments} " if given.payments != parser.get_default("payments") else ""
    command = f"make reconcile {more}{'ARGS=--postgresql' if given.postgresql else ''}".strip()
    return conclude(summary, summary.faults, given.save, (command, ("granian", "sqlalchemy", "starlette")))


@contextlib.contextmanager
def database(folder: Path, *, postgresql: bool) -> Iterator[str]:
    """Provide the URL of an empty database."""
    binaries = programs() if postgresql else None
    if postgresql and binaries is None:
        raise SystemExit("no initdb and postgres on this machine (Debian: apt install postgresql)")
    if binaries is None:
        yield f"sqlite:///{folder}/pay.db"
        return
    with server(binaries) as url:
        yield url


if __name__ == "__main__":
    sys.exit(main())
