"""Schema 16: one record names the one end of a transfer: captured, granted, refunded or resolved."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

_KEY = ("chain_id", "transaction_hash", "position")
_ENDS = sa.table("transfer_ends", *(sa.column(name) for name in (*_KEY, "kind")))
_TRANSFERS = sa.table("transfers", *(sa.column(name) for name in (*_KEY, "order_id", "grant_id")))
_REFUNDS = sa.table("refunds", *(sa.column(name) for name in ("chain_id", "transfer_hash", "transfer_position")))
_RESOLUTIONS = sa.table("resolutions", *(sa.column(name) for name in _KEY))


def upgrade() -> None:
    """Create the table, and enter the existing ends. If a transfer has several, the first in this order counts."""
    op.create_table(
        "transfer_ends",
        sa.Column("chain_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("transaction_hash", sa.String(66), primary_key=True),
        sa.Column("position", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(40), nullable=False),
    )
    transfer = [_TRANSFERS.c[name] for name in _KEY]
    refund = [_REFUNDS.c.chain_id, _REFUNDS.c.transfer_hash, _REFUNDS.c.transfer_position]
    _enter("captured", transfer, _TRANSFERS.c.order_id.is_not(None))
    _enter("granted", transfer, _TRANSFERS.c.grant_id.is_not(None))
    _enter("refunded", refund, _REFUNDS.c.transfer_hash.is_not(None))
    _enter("resolved", [_RESOLUTIONS.c[name] for name in _KEY], sa.true())


def _enter(kind: str, key: list[sa.ColumnClause[object]], condition: sa.ColumnElement[bool]) -> None:
    entered = sa.select(_ENDS.c.kind).where(*(_ENDS.c[name] == each for name, each in zip(_KEY, key, strict=True)))
    found = sa.select(*key, sa.literal(kind)).where(condition, ~entered.exists())
    op.get_bind().execute(sa.insert(_ENDS).from_select([*_KEY, "kind"], found))
