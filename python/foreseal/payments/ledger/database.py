"""A database by URL: SQLite in WAL mode, or PostgreSQL."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Engine, Table, create_engine, event, func, insert, inspect, make_url, select
from sqlalchemy.exc import IntegrityError, OperationalError

from foreseal.payments.ledger.errors import Overtaken, WrongSchema
from foreseal.payments.ledger.tables import SCHEMA, metadata, schema

_READING = "foreseal_reading"
_DURABLE = "foreseal_durable"
# Seconds that a writer waits for the one before it.
_BUSY = 30
# SQLSTATE deadlock_detected.
_DEADLOCK = "40P01"
# Any number that nobody else locks by.
_CREATION = 0x666F7265


class Database:
    """The tables behind a URL, as SQLAlchemy takes it: `sqlite:///pay.db`, `postgresql+psycopg://host/pay`.

    May be used from any thread.
    """

    def __init__(self, url: str) -> None:
        """Make the tables that are not there. Raises `WrongSchema` for those of another version."""
        self.engine = _engine(url)
        # Threads that wait for SQLite's one writer would look again and again, each time later.
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
            # Parts of the product have tables of their own beside the ledger's, and may be used later than it.
            metadata.create_all(tx)
            if new:
                tx.execute(insert(schema).values(version=SCHEMA))
            found = tx.execute(select(schema.c.version)).scalars().all()
            if found != [SCHEMA]:  # nothing is added to it
                raise WrongSchema(f"the database has tables of version {found}, this library those of version {SCHEMA}")

    @contextlib.contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Connection]:
        """One transaction that may write: committed at the end, or nothing of it if anything is raised.

        What is not `durable` may be lost with the power, though never with the process, and only together with
        everything after it: the next durable commit keeps it as well. It is for what can be found out again.

        On SQLite there is one at a time, from its beginning on. On PostgreSQL rows that are decided upon are locked
        as they are read; raises `Overtaken` where two transactions waited for each other.
        """
        try:
            with self._writing, self.engine.connect().execution_options(**{_DURABLE: durable}) as tx, tx.begin():
                if not durable and tx.dialect.name == "postgresql":
                    tx.exec_driver_sql("SET LOCAL synchronous_commit = off")
                yield tx
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) == _DEADLOCK:
                raise Overtaken("another transaction was in the way") from error
            raise

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """One transaction that reads, from one moment's view, and keeps no writer waiting."""
        options: dict[str, Any] = {_READING: True}
        if self.engine.dialect.name == "postgresql":  # where each statement would see a moment of its own
            options["isolation_level"] = "REPEATABLE READ"
        with self.engine.connect().execution_options(**options) as tx, tx.begin():
            yield tx

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def ensure(tx: Connection, table: Table, **values: Any) -> bool:
    """Insert a row unless somebody else was first, also if that is committed only now; whether it is new."""
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
        # The driver would begin transactions by itself, and only before the first write: too late to decide anything.
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
