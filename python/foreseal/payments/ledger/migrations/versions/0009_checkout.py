"""Schema 9: keys of the service, and the pages to which the checkout page returns."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table of keys, and two columns of orders."""
    op.create_table(
        "service_keys",
        sa.Column("purpose", sa.String(40), primary_key=True),
        sa.Column("key", sa.LargeBinary(32), nullable=False),
    )
    for name in ("success_url", "cancel_url"):
        op.add_column("orders", sa.Column(name, sa.Text))
