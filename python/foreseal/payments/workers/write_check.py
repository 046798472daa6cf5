"""Check that the database accepts writes: one every two seconds, on a connection of its own.

A read proves nothing about writes: another program may hold the write lock of SQLite, and a PostgreSQL server may be a
standby. The connection is not one of the pool, so the check waits for no request, and no request waits for it.
"""

import logging
import secrets
from collections.abc import Callable

from sqlalchemy import delete, insert
from sqlalchemy.exc import SQLAlchemyError

from foreseal.payments.api.models import ProcessRecord
from foreseal.payments.ledger import Database
from foreseal.payments.ledger.database import limited_transaction, open_limited
from foreseal.payments.task_progress import TaskProgress

log = logging.getLogger(__name__)

WRITE_INTERVAL = 2.0
"""Seconds between two writes: a lost lock shows within seconds, and the load is negligible."""
WRITE_LIMIT = 2.0
"""Seconds that a write waits for a lock, like the time limit of a read (`CHECK_LIMIT`)."""
MAX_WRITE_AGE = 5.0
"""Maximum seconds since the last write. After an interval and a wait of 4 s together, a write has failed."""


class WriteCheck:
    """Check of one database. It writes nothing that lasts."""

    def __init__(self, database: Database, clock: Callable[[], float], limit: float = WRITE_LIMIT) -> None:
        """Set up the check. `clock` is monotonic; a write fails after `limit` seconds."""
        self._database = database
        self._limit = limit
        self._engine = open_limited(database.engine.url, limit)
        self._id = f"write check {secrets.token_hex(16)}"
        self._commits = database.commits
        self._error: str | None = None
        self.progress = TaskProgress(clock)

    def __call__(self) -> None:
        """Write once. Raises nothing of the database; its error shows by the age of the last write."""
        try:
            if not self._has_committed():
                self._write()
        except SQLAlchemyError as error:
            if self._error is None:
                log.warning("the database accepts no writes", extra={"error": f"{type(error).__name__}: {error}"[:300]})
            self._error = type(error).__name__
        else:
            self._error = None
            self.progress.record()

    @property
    def is_writable(self) -> bool:
        """True if a write succeeded within the last seconds."""
        return self.progress.age <= MAX_WRITE_AGE

    def _has_committed(self) -> bool:
        """Return True if this process has committed since the last check.

        SQLite has one writer. Under load, the check could wait in vain for its lock, and the commits prove the same.
        """
        before, self._commits = self._commits, self._database.commits
        return self._engine.dialect.name == "sqlite" and self._commits != before

    def _write(self) -> None:
        # No other transaction sees the row.
        with limited_transaction(self._engine, self._limit) as tx:
            tx.execute(insert(ProcessRecord).values({ProcessRecord.id: self._id, ProcessRecord.seen: 0.0}))
            tx.execute(delete(ProcessRecord).where(ProcessRecord.id == self._id))
