"""Schema 12: transactions and blocks whose transfers could not be read."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "set_aside",
        sa.Column("chain_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("token", sa.String(42), primary_key=True),
        sa.Column("recipient", sa.String(42), primary_key=True),
        sa.Column("block_number", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("transaction_hash", sa.String(66), primary_key=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("due", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
    )
