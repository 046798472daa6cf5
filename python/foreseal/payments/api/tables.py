"""Tables of the service, in addition to the ledger's. Times are seconds since 1970."""

from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from foreseal.payments.api.roles import Role as Role
from foreseal.payments.ledger.columns import EnumText
from foreseal.payments.ledger.tables import metadata, timeline


class WebhookOrigin(StrEnum):
    """Origin of a webhook's target."""

    CONFIGURED = "configured"
    REGISTERED = "registered"


class DeliveryState(StrEnum):
    """State of one event's delivery to one target."""

    WAITING = "pending"
    DELIVERED = "delivered"
    DEAD = "dead"
    """All attempts failed."""


api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String(20), primary_key=True),
    Column("name", String(64), nullable=False),
    Column("role", EnumText(Role), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("revoked", BigInteger),
)

requests = Table(
    "requests",
    metadata,
    # The caller's Idempotency-Key.
    Column("key", String(255), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    # Newest timeline entry at the start of the request; a later entry may be its effect.
    Column("since", BigInteger, nullable=False),
    Column("owner", String(100), nullable=False),
    Column("leased_until", Float, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("status", Integer),
    Column("answer", LargeBinary),
)

hooks = Table(
    "hooks",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("url", Text, nullable=False),
    Column("origin", EnumText(WebhookOrigin), nullable=False),
    # Set for registered targets only. A configured secret stays in its file or environment variable.
    Column("secret", String(100)),
    Column("created", BigInteger, nullable=False),
    Column("retired", BigInteger),
    # Newest timeline entry when the target was added; only later entries are delivered.
    Column("since", BigInteger, nullable=False),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("hook_id", ForeignKey(hooks.c.id), nullable=False),
    Column("entry_id", ForeignKey(timeline.c.id), nullable=False),
    Column("subject", String(40), nullable=False),
    Column("subject_id", String(200), nullable=False),
    Column("state", EnumText(DeliveryState, stored={DeliveryState.WAITING: "waiting"}), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due", Float, nullable=False),
    Column("leased_until", Float, nullable=False),
    Column("error", Text, nullable=False),
    UniqueConstraint("hook_id", "entry_id"),
    Index("deliveries_due", "hook_id", "state", "due"),
    Index("deliveries_state", "state", "id"),
    Index("deliveries_order", "hook_id", "subject", "subject_id", "state", "entry_id"),
)

resolutions = Table(
    "resolutions",
    metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("transaction_hash", String(66), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("note", Text, nullable=False),
    Column("resolved_by", String(20), nullable=False),
    Column("time", BigInteger, nullable=False),
)

processes = Table(
    "processes",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("seen", Float, nullable=False),
)
