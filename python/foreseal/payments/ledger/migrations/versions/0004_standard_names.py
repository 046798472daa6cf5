"""Schema 4: standard names of tables, columns and stored values; columns for references, metadata and webhooks."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

from foreseal.payments.crash_points import MigrationPoint
from foreseal.payments.ledger.migrations.events import MigrationEvents

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_TABLES = {"suspense": "unmatched_transfers", "hooks": "webhooks", "x402_turns": "x402_payer_locks"}
_COLUMNS = {
    "timeline": {"told": "fanned_out"},
    "deliveries": {"hook_id": "webhook_id", "entry_id": "event_id", "due": "next_attempt"},
}
_INDEXES = (
    ("orders_place", "orders_state", "orders", ["state", "step"]),
    ("refunds_place", "refunds_state", "refunds", ["state", "step"]),
    ("payouts_place", "payouts_state", "payouts", ["state", "step"]),
    ("x402_grants_place", "x402_grants_state", "x402_grants", ["state", "step"]),
    ("purchases_place", "purchases_state", "purchases", ["state", "step"]),
    ("timeline_told", "timeline_fanned_out", "timeline", ["fanned_out", "id"]),
    ("deliveries_due", "deliveries_next_attempt", "deliveries", ["webhook_id", "state", "next_attempt"]),
)
# Stored values by table and column.
_VALUES = (
    ("transactions", "ending", {"final": "included", "displaced": "replaced"}),
    ("unmatched_transfers", "reason", {"under": "underpaid", "over": "overpaid", "double": "duplicate"}),
    ("deliveries", "state", {"waiting": "pending"}),
    ("timeline", "trigger", {"suspense": "transfer unmatched"}),
)
# Reasons in the details of timeline entries, which were once sentences.
_REASONS = {
    "the payer canceled": "payer_canceled",
    "nothing is under way": "no_transaction",
    "its account nonce was used by another transaction": "account_nonce_used",
    "it was reverted": "reverted",
    "under": "underpaid",
    "over": "overpaid",
    "double": "duplicate",
}
# Triggers whose reason was once a free text.
_FREE_TEXT = {"merchant marks the order void": "merchant_voided", "recipient is forbidden": "recipient_forbidden"}
_BATCH = 1_000

_orders = sa.table("orders", sa.column("id"), sa.column("created"))
_timeline = sa.table(
    "timeline",
    *(sa.column(name) for name in ("id", "subject", "subject_id", "time", "trigger", "before", "details")),
)


def upgrade() -> None:
    """Rename, add the columns, and rewrite the stored values."""
    events = MigrationEvents.current()
    _alter_tables()
    events.report("0004: tables altered")
    events.passed(MigrationPoint.TABLES_ALTERED)
    _rewrite_values()
    _fill_created()
    _rewrite_details()
    events.report("0004: rows rewritten")
    events.passed(MigrationPoint.ROWS_REWRITTEN)
    _guard()


def _guard() -> None:
    """Record a version that releases without migrations reject; otherwise they would add their own tables."""
    if sa.inspect(op.get_bind()).has_table("schema"):
        op.execute("DELETE FROM schema")
    else:
        op.create_table("schema", sa.Column("version", sa.Integer, primary_key=True, autoincrement=False))
    op.execute("INSERT INTO schema (version) VALUES (4)")


def _alter_tables() -> None:
    for old, new in _TABLES.items():
        op.rename_table(old, new)
    for table, columns in _COLUMNS.items():
        for old, new in columns.items():
            # SQLite and PostgreSQL have the same statement; both rename the column in keys and indexes as well.
            op.execute(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")
    for old, new, table, names in _INDEXES:
        op.drop_index(old, table)
        op.create_index(new, table, names)
    for table, added in _added_columns().items():
        for column in added:
            op.add_column(table, column)
    op.create_index("orders_created", "orders", ["created"])
    op.create_index("orders_reference", "orders", ["reference"])


def _added_columns() -> dict[str, list[sa.Column[Any]]]:
    """Return the new columns by table."""
    return {
        "orders": [
            # Orders of schema 3 get the time of their first timeline entry; later ones are always inserted with a time.
            sa.Column("created", sa.BigInteger, nullable=False, server_default="0"),
            sa.Column("reference", sa.String(200)),
            sa.Column("metadata_json", sa.Text),
            sa.Column("auto_capture", sa.Boolean, nullable=False, server_default=sa.false()),
            sa.Column("last_error", sa.Text),
        ],
        "webhooks": [
            sa.Column("events", sa.Text),
            sa.Column("previous_secret", sa.String(100)),
            sa.Column("previous_secret_expires", sa.BigInteger),
        ],
        "deliveries": [sa.Column("leased_by", sa.String(100))],
    }


def _rewrite_values() -> None:
    for table, name, values in _VALUES:
        column: sa.ColumnClause[str] = sa.column(name)
        rows = sa.table(table, column)
        for old, new in values.items():
            op.execute(sa.update(rows).where(column == old).values({column: new}))


def _fill_created() -> None:
    first = (
        sa.select(_timeline.c.time)
        .where(_timeline.c.subject == "orders", _timeline.c.subject_id == _orders.c.id)
        .order_by(_timeline.c.id)
        .limit(1)
        .scalar_subquery()
    )
    op.execute(sa.update(_orders).values(created=sa.func.coalesce(first, 0)))


def _rewrite_details() -> None:
    tx, last = op.get_bind(), 0
    named = _timeline.c.details.like('%"reason"%')
    query = sa.select(_timeline.c.id, _timeline.c.trigger, _timeline.c.details).where(named).order_by(_timeline.c.id)
    change = sa.update(_timeline).where(_timeline.c.id == sa.bindparam("entry")).values(details=sa.bindparam("text"))
    while rows := tx.execute(query.where(_timeline.c.id > last).limit(_BATCH)).all():
        last = rows[-1][0]
        changed = [
            {"entry": id, "text": json.dumps(new, sort_keys=True)}
            for id, trigger, text in rows
            if (new := _standard(trigger, details := json.loads(text))) != details
        ]
        if changed:
            tx.execute(change, changed)


def _standard(trigger: str, details: dict[str, Any]) -> dict[str, Any]:
    """Return details with the code of their reason."""
    reason = details.get("reason")
    if not isinstance(reason, str):
        return details
    if trigger in _FREE_TEXT and "message" not in details and reason not in _REASONS:
        return details | {"reason": _FREE_TEXT[trigger], "message": reason}
    return details | {"reason": _REASONS.get(reason, reason)}
