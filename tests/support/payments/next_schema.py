"""A later schema than that of this version, for tests of upgrades."""

import shutil
from pathlib import Path

import pytest

from foreseal.payments.ledger import schema

NEXT = "2"
"""Revision after that of this version."""

_MIGRATION = '''"""Schema {next}: notes of orders."""

import sqlalchemy as sa
from alembic import op

revision = "{next}"
down_revision = "{head}"


def upgrade() -> None:
    op.add_column("orders", sa.Column("note", sa.Text()))
    {then}
'''


def install_next_schema(monkeypatch: pytest.MonkeyPatch, folder: Path, then: str = "") -> None:
    """Give this process the schema of a later version, whose migration adds a column and then runs a statement."""
    assert NEXT not in schema.REVISIONS
    migrations = folder / "migrations"
    shutil.copytree(Path(schema.__file__).parent / "migrations", migrations, dirs_exist_ok=True)
    migration = _MIGRATION.format(next=NEXT, head=schema.REVISIONS[-1], then=then)
    (migrations / "versions" / f"{NEXT}_notes.py").write_text(migration)
    monkeypatch.setattr(schema, "_FOLDER", migrations)
    monkeypatch.setattr(schema, "REVISIONS", (*schema.REVISIONS, NEXT))
    monkeypatch.setattr(schema, "HEAD", NEXT)
