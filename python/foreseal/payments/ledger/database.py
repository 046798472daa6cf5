"""A database by URL: SQLite in WAL mode, or PostgreSQL."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Engine, Table, create_engine, event, func, insert, inspect, make_url, select
from sqlalchemy.exc import IntegrityError, OperationalError

from foreseal.payments.ledger.errors import ConcurrentUpdate, WrongSchema
from foreseal.payments.ledger.tables import SCHEMA, metadata, schema

_READING = "foreseal_reading"
_DURABLE = "foreseal_durable"
# Seconds that a SQLite writer waits for the write lock.
_BUSY = 30
# SQLSTATE deadlock_detected.
_DEADLOCK = "40P01"
# An arbitrary number, unique among this database's advisory locks.
_CREATION = 0x666F7265


class Database:
    """The tables behind an SQLAlchemy URL: `sqlite:///pay.db` or `postgresql+psycopg://host/pay`.

    Safe to use from any thread.
    """

    def __init__(self, url: str) -> None:
        """Create missing tables. Raises `WrongSchema` if the existing tables have another version."""
        self.engine = _engine(url)
        # SQLite waiters poll for the write lock with growing pauses; a thread lock wakes them at once.
        sqlite = self.engine.dialect.name == "sqlite"
        self._writing: contextlib.AbstractContextManager[Any] = threading.Lock() if sqlite else contextlib.nullcontext()
        try:
            self._make()
        except WrongSchema:
            self.close()
            raise

    def _make(self) -> None:
        with self.transaction() as tx:
            if tx.dialect.name == "postgresql":  # two processes may start at once; SQLite has one writer anyway
                tx.execute(select(func.pg_advisory_xact_lock(_CREATION)))
            new = not inspect(tx).has_table(schema.name)
            # Other components add their own tables to the ledger's, possibly in a later version.
            metadata.create_all(tx)
            if new:
                tx.execute(insert(schema).values(version=SCHEMA))
            found = tx.execute(select(schema.c.version)).scalars().all()
            if found != [SCHEMA]:  # rolls back: nothing is added to these tables
                raise WrongSchema(f"the database has schema version {found}, expected {SCHEMA}")

    @contextlib.contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Connection]:
        """Run a read-write transaction. It commits at the end, and rolls back if anything is raised.

        A commit that is not `durable` survives a crash of the process. A power loss may undo it, together with all
        later commits, until the next durable commit. Use it for facts that can be determined again.

        SQLite runs one such transaction at a time, from its start. On PostgreSQL, callers lock the rows they decide on
        as they read them. A deadlock between two transactions raises `ConcurrentUpdate`.
        """
        try:
            with self._writing, self.engine.connect().execution_options(**{_DURABLE: durable}) as tx, tx.begin():
                if not durable and tx.dialect.name == "postgresql":
                    tx.exec_driver_sql("SET LOCAL synchronous_commit = off")
                yield tx
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) == _DEADLOCK:
                raise ConcurrentUpdate("conflict with another transaction") from error
            raise

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Run a read-only transaction on one snapshot. It never blocks a writer."""
        options: dict[str, Any] = {_READING: True}
        if self.engine.dialect.name == "postgresql":  # its default level gives each statement a snapshot of its own
            options["isolation_level"] = "REPEATABLE READ"
        with self.engine.connect().execution_options(**options) as tx, tx.begin():
            yield tx

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def ensure(tx: Connection, table: Table, **values: Any) -> bool:
    """Insert a row unless its key exists, even if the other insert commits only now. Return True if inserted."""
    try:
        with tx.begin_nested():
            tx.execute(insert(table).values(**values))
    except IntegrityError:
        return False
    return True


def _engine(url: str) -> Engine:
    if make_url(url).get_backend_name() != "sqlite":
        return create_engine(url)
    engine = create_engine(url, connect_args={"timeout": _BUSY})

    @event.listens_for(engine, "connect")
    def opened(connection: Any, _: Any) -> None:
        # By default the driver begins a transaction only at the first write, too late for a decision based on earlier
        # reads.
        connection.isolation_level = None
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        options = connection.get_execution_options()
        reads = options.get(_READING)
        if not reads:
            connection.exec_driver_sql(f"PRAGMA synchronous={'FULL' if options.get(_DURABLE, True) else 'NORMAL'}")
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    return engine
