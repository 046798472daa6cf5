"""Schema 18: gas of transactions without a receipt in which the code of payers runs."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_IN_FLIGHT = sa.text("code_gas IS NOT NULL")


def upgrade() -> None:
    """Add the column and its index. Transactions that were stored before are not counted."""
    op.add_column("transactions", sa.Column("code_gas", sa.BigInteger()))
    op.create_index(
        "transactions_code_gas",
        "transactions",
        ["chain_id", "code_gas"],
        sqlite_where=_IN_FLIGHT,
        postgresql_where=_IN_FLIGHT,
    )
