"""The schema of a database: its revision, and the upgrade to the revision of this version.

```text
empty             created by all migrations
schema 3          recognized by its table `schema`; upgraded on request
older revision    upgraded on request
this revision     opened
newer revision    rejected
```

The caller's transaction includes the whole upgrade, so a crash leaves the database as it was.
"""

import threading
from pathlib import Path

from sqlalchemy import ColumnClause, Connection, Integer, column, inspect, select, table

from foreseal.payments.ledger.errors import WrongSchema
from foreseal.payments.ledger.migrations.events import MigrationEvents

REVISIONS = (
    "0003",
    "0004",
    "0005",
    "0006",
    "0007",
    "0008",
    "0009",
    "0010",
    "0011",
    "0012",
    "0013",
    "0014",
    "0015",
    "0016",
    "0017",
    "0018",
)
"""All revisions, oldest first."""
HEAD = REVISIONS[-1]
"""Revision of the records of this version."""

# Alembic has one current migration for each process.
_migrating = threading.Lock()
_NO_REVISION = "the database has a table orders, but no schema revision: restore a backup, or use another one"
_FOLDER = Path(__file__).parent / "migrations"


def read_revision(tx: Connection) -> str | None:
    """Return the revision of a database; None if it is empty. Raises `WrongSchema` if it is not unique."""
    tables = inspect(tx).get_table_names()
    if "alembic_version" in tables:
        found = list(tx.execute(select(column("version_num")).select_from(table("alembic_version"))).scalars())
    elif "schema" in tables:
        version: ColumnClause[int] = column("version", Integer)
        versions = tx.execute(select(version).select_from(table("schema"))).scalars()
        found = [f"{number:04}" for number in versions]
        if found == [REVISIONS[1]]:  # for releases without migrations; the revision itself is lost
            raise WrongSchema(_NO_REVISION)
    elif "orders" in tables:
        raise WrongSchema(_NO_REVISION)
    else:
        return None
    if len(found) != 1:
        raise WrongSchema(f"the database has {len(found)} schema revisions, expected one")
    return str(found[0])


def needs_upgrade(revision: str | None) -> bool:
    """Return True for an older revision. Raises `WrongSchema` for one that this version cannot upgrade."""
    if revision is None or revision == HEAD:
        return False
    if revision in REVISIONS:
        return True
    if revision.isdigit() and int(revision) < int(REVISIONS[0]):
        raise WrongSchema(f"the database has schema {revision}, older than {REVISIONS[0]}, the oldest one supported")
    raise WrongSchema(
        f"the database has schema {revision}, newer than {HEAD} of this version: install a newer Foreseal"
    )


def migrate(tx: Connection, events: MigrationEvents) -> None:
    """Run all missing migrations in the caller's transaction."""
    # Only a creation or an upgrade imports Alembic.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes.update(connection=tx, events=events)
    with _migrating:
        command.upgrade(config, "head")
