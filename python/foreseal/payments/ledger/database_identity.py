"""The identity of a database, independent of the URL that leads to it."""

import os
from dataclasses import dataclass

from foreseal.payments.ledger.database import Database
from foreseal.payments.ledger.models import OrderRecord

# The start time has microseconds, so two servers do not share it.
_POSTGRESQL = """
SELECT pg_postmaster_start_time()::text, (SELECT oid FROM pg_database WHERE datname = current_database()),
       to_regclass(%(table)s)::oid
"""


@dataclass(frozen=True, slots=True)
class DatabaseIdentity:
    """Identity of a database, which all URLs of it share."""

    database: str
    """File of SQLite, or server and database of PostgreSQL: the scope of locks on process names."""
    tables: str
    """Tables of the ledger. Two schemas of one PostgreSQL database have different ones."""


def find_identity(database: Database) -> DatabaseIdentity:
    """Return the identity of an open database. Raises the database's errors."""
    with database.reading() as tx:
        if tx.dialect.name == "postgresql":
            row = tx.exec_driver_sql(_POSTGRESQL, {"table": OrderRecord.__tablename__}).one()
            return DatabaseIdentity(f"{row[0]} {row[1]}", f"{row[0]} {row[1]} {row[2]}")
        path = next(str(row[2] or "") for row in tx.exec_driver_sql("PRAGMA database_list") if row[1] == "main")
    if not path:  # in memory
        return DatabaseIdentity(f"memory {id(database)}", f"memory {id(database)}")
    status = os.stat(path)
    file = f"{status.st_dev} {status.st_ino}"
    return DatabaseIdentity(file, file)
