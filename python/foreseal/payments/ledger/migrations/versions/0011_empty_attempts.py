"""Schema 11: rejections of transactions, and empty transfers that take the account nonces of rejected ones."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column("transactions", sa.Column("rejection", sa.Text()))
    op.add_column("transactions", sa.Column("rejected_since", sa.BigInteger()))
    op.add_column("attempts", sa.Column("is_empty", sa.Boolean(), nullable=False, server_default=sa.false()))
