"""Schema 8: orders without a payer."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_UNASSIGNED = sa.text("payer IS NULL")


def upgrade() -> None:
    """Make the payer nullable, and add the indexes for transfers of orders without a payer."""
    if op.get_bind().dialect.name == "sqlite":
        _replace_payer()
    else:
        op.alter_column("orders", "payer", existing_type=sa.String(42), nullable=True)
    op.create_index(
        "orders_unassigned",
        "orders",
        ["chain_id", "token", "nonce"],
        sqlite_where=_UNASSIGNED,
        postgresql_where=_UNASSIGNED,
    )
    if sa.inspect(op.get_bind()).has_table("unmatched_transfers"):
        op.create_index("unmatched_transfers_order", "unmatched_transfers", ["order_id"])


def _replace_payer() -> None:
    """Replace the column by a nullable one. SQLite cannot alter it.

    A copy of the table, as in Alembic's batch mode, would drop the old table while other tables refer to it. SQLite
    checks foreign keys then, and this connection cannot disable them within its transaction.
    """
    op.drop_index("orders_nonce", "orders")
    op.add_column("orders", sa.Column("new_payer", sa.String(42)))
    op.execute("UPDATE orders SET new_payer = payer")
    op.execute("ALTER TABLE orders DROP COLUMN payer")
    op.execute("ALTER TABLE orders RENAME COLUMN new_payer TO payer")
    op.create_index("orders_nonce", "orders", ["chain_id", "token", "payer", "nonce"])
