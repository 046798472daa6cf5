"""A database that accepts no writes: another program holds SQLite's write lock, or PostgreSQL is read-only."""

import contextlib
import sqlite3
from collections.abc import Iterator

from sqlalchemy import create_engine, make_url

from foreseal.payments.ledger.database import open_limited
from foreseal.payments.workers.write_check import WriteCheck


def limit_writes(check: WriteCheck, seconds: float) -> None:
    """Shorten the time for which a write waits for a lock, because a test need not wait for it."""
    check._limit, check._engine = seconds, open_limited(check._engine.url, seconds)


@contextlib.contextmanager
def without_writes(url: str) -> Iterator[None]:
    """Let a database reject the writes of new connections, until the end of the context."""
    if url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(str(make_url(url).database), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")
        return
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as other:
        setting = f'ALTER DATABASE "{engine.url.database}"'
        other.exec_driver_sql(f"{setting} SET default_transaction_read_only = on")
        try:
            yield
        finally:
            other.exec_driver_sql(f"{setting} RESET default_transaction_read_only")
    engine.dispose()
