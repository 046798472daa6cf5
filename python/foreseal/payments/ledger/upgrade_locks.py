"""Time limit of an upgrade that waits for the locks of other programs on PostgreSQL."""

from collections.abc import Callable

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from foreseal.payments.ledger.errors import UpgradeBlocked

# Attempts, each with this limit of a wait for a lock in seconds. A waiting upgrade blocks the other programs as well.
_ATTEMPTS, _LIMIT = 15, 2
# SQLSTATE lock_not_available.
_TIMEOUT = "55P03"
_LIMITED = text(f"SET LOCAL lock_timeout = '{_LIMIT}s'")
_OTHERS = text(
    "SELECT pid, application_name, extract(epoch FROM now() - xact_start)::int AS seconds, left(query, 80) AS query "
    "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL "
    "ORDER BY xact_start LIMIT 3"
)


def limit_waits(tx: Connection) -> None:
    """Let each wait of this transaction for a lock fail after the limit."""
    if tx.dialect.name == "postgresql":
        tx.execute(_LIMITED)


def retry_blocked(engine: Engine, upgrade: Callable[[], None], report: Callable[[str], None]) -> None:
    """Run an upgrade until it gets its locks. `report` receives what it waits for. Raises `UpgradeBlocked`."""
    for attempt in range(_ATTEMPTS):
        try:
            upgrade()
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) != _TIMEOUT:
                raise
            blockers = _describe_others(engine)
            if attempt == _ATTEMPTS - 1:
                raise UpgradeBlocked(
                    f"the upgrade got no lock within {_ATTEMPTS * _LIMIT} s, and changed nothing; {blockers}"
                ) from error
            report(f"the upgrade waits for a lock; {blockers}")
        else:
            return


def _describe_others(engine: Engine) -> str:
    """Return the longest transactions of other sessions."""
    with engine.connect() as tx:
        rows = tx.execute(_OTHERS).all()
    if not rows:
        return "no other transaction is open now"
    named = [
        f"process {pid} ({name or 'no application name'}), {seconds} s: {query}" for pid, name, seconds, query in rows
    ]
    return f"open transactions: {'; '.join(named)}"
