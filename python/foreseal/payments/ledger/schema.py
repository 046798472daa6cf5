"""The schema of a database: its revision, and the upgrade to the revision of this version.

```text
empty                 created by all migrations
older revision        upgraded on request
this revision         opened
newer revision        rejected
any other revision    rejected: an unreleased version created it
```

The caller's transaction includes the whole upgrade, so a crash leaves the database as it was.
"""

import re
import threading
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection, String, column, inspect, select, table

from foreseal.payments.ledger.errors import WrongSchema

REVISIONS = ("1",)
"""All revisions, oldest first. Unreleased versions had four digits with leading zeros."""
HEAD = REVISIONS[-1]
"""Revision of the records of this version."""

# Alembic has one current migration for each process.
_migrating = threading.Lock()
_UNRELEASED = "no release opens, upgrades or changes it: set a new, empty database"
_NO_REVISION = (
    "the database has a table orders, but no schema revision: an unreleased version of Foreseal or another program "
    f"created it, and {_UNRELEASED}"
)
_RELEASED = re.compile("[1-9][0-9]*")
_FOLDER = Path(__file__).parent / "migrations"


def read_revision(tx: Connection) -> str | None:
    """Return the revision of a database; None if it is empty. Raises `WrongSchema` if it is not unique."""
    tables = inspect(tx).get_table_names()
    if "alembic_version" not in tables:
        if "orders" in tables:
            raise WrongSchema(_NO_REVISION)
        return None
    query = select(column("version_num", String)).select_from(table("alembic_version"))
    revisions = tx.execute(query).scalars().all()
    if len(revisions) != 1:
        raise WrongSchema(f"the database has {len(revisions)} schema revisions, expected one")
    return revisions[0]


def needs_upgrade(revision: str | None) -> bool:
    """Return True for an older revision. Raises `WrongSchema` for one that this version cannot upgrade."""
    if revision is None or revision == HEAD:
        return False
    if revision in REVISIONS:
        return True
    if _RELEASED.fullmatch(revision):
        raise WrongSchema(
            f"the database has schema {revision}, newer than {HEAD} of this version: install a newer Foreseal"
        )
    raise WrongSchema(f"the database has schema {revision} of an unreleased version of Foreseal; {_UNRELEASED}")


def migrate(tx: Connection, report: Callable[[str], None]) -> None:
    """Run all missing migrations in the caller's transaction. `report` receives a line after each."""
    # Only a creation or an upgrade imports Alembic.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes.update(connection=tx, report=report)
    with _migrating:
        command.upgrade(config, "head")
