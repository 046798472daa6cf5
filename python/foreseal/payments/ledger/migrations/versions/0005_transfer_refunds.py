"""Schema 5: refunds of unmatched transfers; a refund refers to an order or to a transfer."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the order optional, and add the transfer."""
    with op.batch_alter_table("refunds") as refunds:
        refunds.alter_column("order_id", existing_type=sa.String(200), nullable=True)
        refunds.add_column(sa.Column("transfer_hash", sa.String(66)))
        refunds.add_column(sa.Column("transfer_position", sa.Integer))
    op.create_index("refunds_transfer", "refunds", ["chain_id", "transfer_hash", "transfer_position"], unique=True)
