"""Schema 6: orders refer to the transaction that captures them together with others."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, and the indexes for open batches."""
    op.add_column("orders", sa.Column("capture_batch", sa.String(200)))
    op.create_index("orders_capture_batch", "orders", ["capture_batch", "state", "step"])
    # Without the purpose, a database could read all batches ever made to find the open ones.
    op.drop_index("transactions_ending", "transactions")
    op.create_index("transactions_ending", "transactions", ["ending", "purpose"])
