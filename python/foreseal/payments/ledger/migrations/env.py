"""Environment of a migration: `ledger.schema` passes the connection, whose transaction it commits."""

from alembic import context

from foreseal.payments.ledger.migrations.events import MigrationEvents

_events: MigrationEvents = context.config.attributes["events"]

context.configure(
    connection=context.config.attributes["connection"],
    on_version_apply=lambda step, **_: _events.applied(step.up_revision_id, step.up_revision.doc),
)
context.run_migrations()
