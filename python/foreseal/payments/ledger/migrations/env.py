"""Environment of a migration: `ledger.schema` passes the connection, whose transaction it commits."""

from collections.abc import Callable

from alembic import context

_report: Callable[[str], None] = context.config.attributes["report"]

context.configure(
    connection=context.config.attributes["connection"],
    on_version_apply=lambda step, **_: _report(f"{step.up_revision_id}: {step.up_revision.doc}"),
)
context.run_migrations()
