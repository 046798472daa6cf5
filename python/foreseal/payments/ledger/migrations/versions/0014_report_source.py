"""Schema 14: source whose reports may lower the amount of a purchase."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column. Only a database of a buyer has purchases."""
    if sa.inspect(op.get_bind()).has_table("purchases"):
        op.add_column("purchases", sa.Column("report_source", sa.String()))
