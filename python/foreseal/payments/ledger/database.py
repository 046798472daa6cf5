"""A database by URL: SQLite in WAL mode, or PostgreSQL."""

import contextlib
import math
import threading
from collections.abc import Callable, Collection, Iterator
from typing import Any

from sqlalchemy import URL, Connection, Engine, ExceptionContext, create_engine, event, func, insert, make_url, select
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import (
    DatabaseError,
    DataError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)
from sqlalchemy.pool import ConnectionPoolEntry, NullPool, Pool

from foreseal.payments.ledger import schema
from foreseal.payments.ledger.database_url import check_options
from foreseal.payments.ledger.errors import ConcurrentUpdate, WrongSchema
from foreseal.payments.ledger.observer import LedgerObserver, SilentObserver
from foreseal.payments.ledger.pooler_check import require_session
from foreseal.payments.ledger.queries import ColumnValues
from foreseal.payments.ledger.record import Record
from foreseal.payments.ledger.timeline import pop_recorded
from foreseal.payments.ledger.upgrade_locks import limit_waits, retry_blocked

ERROR_CLASSES: tuple[type[DBAPIError], ...] = (
    DataError,
    DatabaseError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)
"""Classes of the errors that a database reports to its observer. A violated unique key is an expected answer."""

_READING = "foreseal_reading"
_DURABLE = "foreseal_durable"
# Seconds that a SQLite writer waits for the write lock.
_BUSY = 30
# SQLSTATE deadlock_detected.
_DEADLOCK = "40P01"
# An arbitrary number, unique among this database's advisory locks.
_CREATION = 0x666F7265


def _ignore(_: str) -> None:
    pass


class Database:
    """The tables behind an SQLAlchemy URL: `sqlite:///pay.db` or `postgresql+psycopg://host/pay`.

    Safe to use from any thread.
    """

    def __init__(self, url: str, *, upgrade: bool = False, report: Callable[[str], None] = _ignore) -> None:
        """Create the tables of an empty database. With `upgrade`, upgrade the tables of an earlier version.

        `report` receives lines about the progress. Raises `WrongSchema` if the tables have another version,
        `PoolerRefused`, and `OptionRefused` for an option of the URL.
        """
        parts = make_url(url)
        check_options(parts)
        if parts.get_backend_name() == "postgresql":
            require_session(url)
        self.observer: LedgerObserver = SilentObserver()
        """Receiver of events."""
        self.commits = 0
        """Grows with the read-write transactions that committed."""
        self.engine = _engine(url)
        event.listen(self.engine, "handle_error", self._observe_error)
        # SQLite waiters poll for the write lock with growing pauses; a thread lock wakes them at once.
        sqlite = self.engine.dialect.name == "sqlite"
        self._writing: contextlib.AbstractContextManager[object] = (
            threading.Lock() if sqlite else contextlib.nullcontext()
        )
        try:
            self._make(upgrade, report)
        except BaseException:
            self.close()
            raise

    def _make(self, upgrade: bool, report: Callable[[str], None]) -> None:
        with self.reading() as tx:
            if schema.read_revision(tx) == schema.HEAD:
                return
        retry_blocked(self.engine, lambda: self._upgrade(upgrade, report), report)

    def _upgrade(self, upgrade: bool, report: Callable[[str], None]) -> None:
        with self.transaction() as tx:
            limit_waits(tx)
            if tx.dialect.name == "postgresql":  # two processes may start at once; SQLite has one writer anyway
                tx.execute(select(func.pg_advisory_xact_lock(_CREATION)))
            revision = schema.read_revision(tx)
            if schema.needs_upgrade(revision) and not upgrade:
                raise WrongSchema(
                    f"the database has schema {revision}, older than {schema.HEAD} of this version: stop all processes "
                    "that use it, then run `foreseal pay db upgrade pay.toml` or start once with --upgrade-database"
                )
            if revision != schema.HEAD:
                schema.migrate(tx, report)

    @contextlib.contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Connection]:
        """Run a read-write transaction. It commits at the end, and rolls back if anything is raised.

        A commit that is not `durable` survives a crash of the process. A power loss may undo it, together with all
        later commits, until the next durable commit. Use it for facts that can be determined again.

        SQLite runs one such transaction at a time, from its start. On PostgreSQL, callers lock the rows they decide on
        as they read them. A deadlock between two transactions raises `ConcurrentUpdate`.
        """
        try:
            with self._writing, self.engine.connect().execution_options(**{_DURABLE: durable}) as tx:
                pop_recorded(tx)  # of an earlier transaction that was rolled back
                with tx.begin():
                    if not durable and tx.dialect.name == "postgresql":
                        tx.exec_driver_sql("SET LOCAL synchronous_commit = off")
                    yield tx
                recorded = pop_recorded(tx)
            self.commits += 1
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) == _DEADLOCK:
                raise ConcurrentUpdate("conflict with another transaction") from error
            raise
        if recorded:
            self.observer.record_committed(recorded)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Run a read-only transaction on one snapshot. It never blocks a writer."""
        options: dict[str, object] = {_READING: True}
        if self.engine.dialect.name == "postgresql":  # its default level gives each statement a snapshot of its own
            options["isolation_level"] = "REPEATABLE READ"
        with self.engine.connect().execution_options(**options) as tx, tx.begin():
            yield tx

    def close(self) -> None:
        """Close all connections. One that another thread uses is closed when it is returned."""
        # Otherwise it would return to a pool that nothing uses any more, and stay open until it is garbage collected.
        event.listen(self.engine, "checkin", _close_returned)
        self.engine.dispose()

    def _observe_error(self, context: ExceptionContext) -> None:
        if not isinstance(context.sqlalchemy_exception, IntegrityError):
            self.observer.record_database_error(context.sqlalchemy_exception or context.original_exception)


def _close_returned(_connection: DBAPIConnection, record: ConnectionPoolEntry) -> None:
    record.invalidate()


def find_revision(url: str) -> str | None:
    """Return the schema revision of a database, which is not changed; None if it is empty."""
    engine = _engine(url)
    try:
        with engine.connect().execution_options(**{_READING: True}) as tx:
            return schema.read_revision(tx)
    finally:
        engine.dispose()


def open_limited(url: URL, limit: float) -> Engine:
    """Return an engine without a pool, whose connections wait at most `limit` seconds for server or write lock."""
    if url.get_backend_name() == "sqlite":
        return _engine(url, limit, poolclass=NullPool)
    return create_engine(url, poolclass=NullPool, connect_args={"connect_timeout": math.ceil(limit)})


@contextlib.contextmanager
def limited_transaction(engine: Engine, limit: float) -> Iterator[Connection]:
    """Run a transaction on an engine of `open_limited`. Each statement fails after `limit` seconds.

    Raises the database's errors. The commit is not durable.
    """
    with engine.connect().execution_options(**{_DURABLE: False}) as tx, tx.begin():
        if tx.dialect.name == "postgresql":
            tx.exec_driver_sql("SET LOCAL synchronous_commit = off")
            tx.exec_driver_sql(f"SET LOCAL statement_timeout = {round(limit * 1000)}")
        yield tx


def ensure(tx: Connection, model: type[Record], values: ColumnValues) -> bool:
    """Insert a row unless its key exists, even if the other insert commits only now. Return True if inserted."""
    try:
        with tx.begin_nested():
            tx.execute(insert(model).values(values))
    except IntegrityError:
        return False
    return True


def lock_names(tx: Connection, names: Collection[str]) -> None:
    """Lock names until this transaction ends, for decisions about rows that may not exist yet.

    SQLite has one writer anyway.
    """
    if tx.dialect.name == "postgresql":
        for name in sorted(names):
            tx.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, 0))))


def _engine(url: str | URL, busy: float = _BUSY, poolclass: type[Pool] | None = None) -> Engine:
    if make_url(url).get_backend_name() != "sqlite":
        return create_engine(url)
    engine = create_engine(url, connect_args={"timeout": busy}, poolclass=poolclass)

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
