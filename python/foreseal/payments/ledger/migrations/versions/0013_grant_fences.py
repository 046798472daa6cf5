"""Schema 13: fences of the leases of grants."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column. A database of a buyer alone has no grants."""
    if sa.inspect(op.get_bind()).has_table("x402_grants"):
        op.add_column("x402_grants", sa.Column("fence", sa.BigInteger(), nullable=False, server_default="0"))
