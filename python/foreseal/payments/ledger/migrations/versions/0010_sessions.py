"""Schema 10: sessions of the dashboard, and orders by amount."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of sessions, and the index for the search by amount."""
    op.create_index("orders_amount", "orders", ["amount"])
    if not sa.inspect(op.get_bind()).has_table("api_keys"):
        return
    op.create_table(
        "sessions",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("key_id", sa.String(20), sa.ForeignKey("api_keys.id"), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("used", sa.BigInteger(), nullable=False),
    )
    op.create_index("sessions_key", "sessions", ["key_id", "created"])
