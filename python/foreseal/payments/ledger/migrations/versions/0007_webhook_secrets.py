"""Schema 7: secrets of registered webhooks in the form of Standard Webhooks, with the same key."""

import base64

import sqlalchemy as sa
from alembic import op

from foreseal.payments.ledger.migrations.events import MigrationEvents

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_PREFIX = "whsec_"


def upgrade() -> None:
    """Rewrite the secrets. The key of a signature was the text of the secret, in ASCII."""
    tx = op.get_bind()
    if not sa.inspect(tx).has_table("webhooks"):
        return
    webhooks = sa.table("webhooks", sa.column("id"), sa.column("secret"))
    old = webhooks.c.secret.is_not(None) & ~webhooks.c.secret.startswith(_PREFIX)
    rows = tx.execute(sa.select(webhooks.c.id, webhooks.c.secret).where(old)).all()
    for id, secret in rows:
        key = base64.b64encode(secret.encode()).decode()
        tx.execute(sa.update(webhooks).where(webhooks.c.id == id).values(secret=_PREFIX + key))
    MigrationEvents.current().report(f"0007: {len(rows)} webhook secrets rewritten")
