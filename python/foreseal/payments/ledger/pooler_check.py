"""Check that a connection to PostgreSQL is one session: a pooler in transaction mode changes it between transactions.

The lock of a process name is held by a session, and the driver prepares statements in it. Behind such a pooler two
processes would have one name, and statements would fail at random.
"""

import secrets

from sqlalchemy import URL, Connection, Engine, create_engine, make_url, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from foreseal.payments.ledger.errors import PoolerRefused

# Each attempt opens one more connection: a pooler gives one of them the server session of the first.
_ATTEMPTS = 3
# Seconds that a database may take to answer while a configuration is checked.
_SHORT = 3
_SET = text("SELECT set_config('foreseal.session', :mark, false)")
_READ = text("SELECT current_setting('foreseal.session', true)")
REFUSED = (
    "the database is behind a pooler that changes the server session between transactions (transaction mode of "
    "pgbouncer and others): use its session mode, or connect to PostgreSQL directly"
)
"""Reason of `PoolerRefused`."""


def require_session(url: str | URL, limit: int | None = None) -> None:
    """Raise `PoolerRefused` if another connection may get the session of this one, and the database's errors.

    `limit` is the time limit of a connection, in seconds.
    """
    options = {} if limit is None else {"connect_timeout": limit}
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT", connect_args=options)
    mark = secrets.token_hex(16)
    with engine.connect() as first:
        first.execute(_SET, {"mark": mark})
        if any(_is_shared(engine, first, mark) for _ in range(_ATTEMPTS)):
            raise PoolerRefused(REFUSED)


def find_pooler(url: str) -> bool:
    """Return True if a database answers, and is behind a pooler that is refused."""
    if make_url(url).get_backend_name() != "postgresql":
        return False
    try:
        require_session(url, _SHORT)
    except PoolerRefused:
        return True
    except SQLAlchemyError:
        pass
    return False


def _is_shared(engine: Engine, first: Connection, mark: str) -> bool:
    """Return True if another connection has the mark of the first one, or the first one has lost it.

    Neither holds a transaction: a small pool would have no session for the other.
    """
    with engine.connect() as other:
        return bool(other.execute(_READ).scalar_one() == mark or first.execute(_READ).scalar_one() != mark)
