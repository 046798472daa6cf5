"""Schema 17: gas lost to transactions that payers made revert."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "lost_gas",
        sa.Column("chain_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("transaction_hash", sa.String(66), primary_key=True),
        sa.Column("payer", sa.String(42), primary_key=True),
        sa.Column("gas", sa.BigInteger(), nullable=False),
        sa.Column("has_code", sa.Boolean(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
    )
    op.create_index("lost_gas_time", "lost_gas", ["chain_id", "time"])
