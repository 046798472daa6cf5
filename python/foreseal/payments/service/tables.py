"""Tables of the service, beside the ledger's. Times are seconds since 1970."""

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

from foreseal.payments.ledger.columns import Word
from foreseal.payments.ledger.tables import metadata, timeline


class Role(StrEnum):
    """What the holder of an API key may do. All may read."""

    READER = "reader"
    CASHIER = "cashier"
    """Orders: create, take signatures, capture, void, cancel."""
    REFUNDER = "refunder"
    """Refunds."""
    ADMIN = "admin"
    """Everything: payouts, suspended transfers and webhooks as well."""


class Origin(StrEnum):
    """Who named a webhook's target."""

    CONFIGURED = "configured"
    REGISTERED = "registered"


class Delivery(StrEnum):
    """What became of telling a target one thing."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"
    """Given up after so many attempts."""


api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String(20), primary_key=True),
    Column("name", String(64), nullable=False),
    Column("role", Word(Role), nullable=False),
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
    # Newest entry of the timeline when it began: what is later may be its effect.
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
    Column("origin", Word(Origin), nullable=False),
    # Of registered ones; that of a configured one stays where the configuration says.
    Column("secret", String(100)),
    Column("created", BigInteger, nullable=False),
    Column("retired", BigInteger),
    # Entries of the timeline up to here were there before it.
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
    Column("state", Word(Delivery), nullable=False),
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
