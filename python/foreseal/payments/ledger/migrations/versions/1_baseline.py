"""Schema 1: all tables of the first release."""

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

revision = "1"
down_revision = None
branch_labels = None
depends_on = None

# A uint256: decimal text of fixed width, or a number on PostgreSQL.
_UNITS = String(78).with_variant(Numeric(78, 0), "postgresql")
_UNASSIGNED = text("payer IS NULL")
_IN_FLIGHT = text("code_gas IS NOT NULL")
_metadata = MetaData()

Table(
    "orders",
    _metadata,
    Column("id", String(200), primary_key=True),
    Column("chain_id", BigInteger, nullable=False),
    Column("token", String(42), nullable=False),
    Column("payer", String(42)),
    Column("payee", String(42), nullable=False),
    Column("amount", _UNITS, nullable=False),
    Column("valid_after", BigInteger, nullable=False),
    Column("valid_before", BigInteger, nullable=False),
    Column("nonce", LargeBinary(32), nullable=False),
    Column("memo", LargeBinary(32), nullable=False, unique=True),
    Column("checkout", String(42)),
    Column("permit_nonce", _UNITS),
    Column("actual", _UNITS),
    Column("signature", LargeBinary),
    Column("since_block", BigInteger, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("reference", String(200)),
    Column("metadata_json", Text),
    Column("success_url", Text),
    Column("cancel_url", Text),
    Column("auto_capture", Boolean, nullable=False),
    Column("last_error", Text),
    Column("capture_batch", String(200)),
    Column("state", String(40), nullable=False),
    Column("step", String(40), nullable=False),
    Index("orders_amount", "amount"),
    Index("orders_capture_batch", "capture_batch", "state", "step"),
    Index("orders_created", "created"),
    Index("orders_nonce", "chain_id", "token", "payer", "nonce"),
    Index("orders_reference", "reference"),
    Index("orders_state", "state", "step"),
    Index("orders_unassigned", "chain_id", "token", "nonce", sqlite_where=_UNASSIGNED, postgresql_where=_UNASSIGNED),
)

Table(
    "authorizations",
    _metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("contract", String(42), primary_key=True),
    Column("payer", String(42), primary_key=True),
    Column("nonce", LargeBinary(32), primary_key=True),
    Column("order_id", ForeignKey("orders.id"), unique=True),
    Column("grant_id", String(200)),
    Column("payee", String(42)),
    Column("amount", _UNITS),
    Column("transaction_hash", String(66)),
    CheckConstraint("(order_id IS NULL) <> (grant_id IS NULL)", name="authorizations_one_sale"),
    UniqueConstraint("grant_id", name="authorizations_grant_id_key"),
    Index("authorizations_payment", "chain_id", "payer", "transaction_hash"),
)

Table(
    "accounts",
    _metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("address", String(42), primary_key=True),
    Column("next_nonce", BigInteger, nullable=False),
)

Table(
    "transactions",
    _metadata,
    Column("id", Integer, primary_key=True),
    Column("chain_id", BigInteger, nullable=False),
    Column("sender", String(42), nullable=False),
    Column("account_nonce", BigInteger, nullable=False),
    Column("purpose", String(40), nullable=False),
    Column("subject", String(200), nullable=False),
    Column("round", Integer, nullable=False),
    Column("target", String(42), nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("gas", BigInteger, nullable=False),
    Column("code_gas", BigInteger),
    Column("ending", String(40)),
    Column("rejection", Text),
    Column("rejected_since", BigInteger),
    UniqueConstraint("chain_id", "sender", "account_nonce"),
    UniqueConstraint("purpose", "subject", "round"),
    Index("transactions_code_gas", "chain_id", "code_gas", sqlite_where=_IN_FLIGHT, postgresql_where=_IN_FLIGHT),
    Index("transactions_ending", "ending", "purpose"),
)

Table(
    "attempts",
    _metadata,
    Column("transaction_id", ForeignKey("transactions.id"), primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    Column("hash", String(66), nullable=False, unique=True),
    Column("raw", LargeBinary, nullable=False),
    Column("fee", _UNITS, nullable=False),
    Column("priority_fee", _UNITS, nullable=False),
    Column("since_block", BigInteger, nullable=False),
    Column("is_empty", Boolean, nullable=False),
)

Table(
    "lost_gas",
    _metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("transaction_hash", String(66), primary_key=True),
    Column("payer", String(42), primary_key=True),
    Column("gas", BigInteger, nullable=False),
    Column("has_code", Boolean, nullable=False),
    Column("time", BigInteger, nullable=False),
    Index("lost_gas_time", "chain_id", "time"),
)

Table(
    "transfers",
    _metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("transaction_hash", String(66), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("block_hash", String(66), nullable=False),
    Column("log_index", Integer, nullable=False),
    Column("block_number", BigInteger, nullable=False),
    Column("token", String(42), nullable=False),
    Column("sender", String(42), nullable=False),
    Column("recipient", String(42), nullable=False),
    Column("amount", _UNITS, nullable=False),
    Column("nonce", LargeBinary(32)),
    Column("memo", LargeBinary(32)),
    Column("checkout", String(42)),
    Column("step", String(40), nullable=False),
    Column("order_id", ForeignKey("orders.id"), unique=True),
    Column("grant_id", String(200)),
    UniqueConstraint("chain_id", "block_hash", "transaction_hash", "log_index"),
    CheckConstraint("order_id IS NULL OR grant_id IS NULL", name="transfers_one_sale"),
    Index("transfers_block", "chain_id", "token", "recipient", "block_number"),
    Index("transfers_grant", "grant_id", unique=True),
    Index("transfers_nonce", "chain_id", "token", "sender", "nonce"),
    Index("transfers_step", "chain_id", "token", "recipient", "step", "block_number"),
)

Table(
    "unmatched_transfers",
    _metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("transaction_hash", String(66), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("reason", String(40), nullable=False),
    Column("order_id", ForeignKey("orders.id")),
    ForeignKeyConstraint(
        ["chain_id", "transaction_hash", "position"],
        ["transfers.chain_id", "transfers.transaction_hash", "transfers.position"],
    ),
    Index("unmatched_transfers_order", "order_id"),
)

Table(
    "transfer_ends",
    _metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("transaction_hash", String(66), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(40), nullable=False),
)

Table(
    "resolutions",
    _metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("transaction_hash", String(66), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("note", Text, nullable=False),
    Column("resolved_by", String(20), nullable=False),
    Column("time", BigInteger, nullable=False),
)

Table(
    "cursors",
    _metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("token", String(42), primary_key=True),
    Column("recipient", String(42), primary_key=True),
    Column("block_number", BigInteger, primary_key=True, autoincrement=False),
    Column("block_hash", String(66), nullable=False),
)

Table(
    "set_aside",
    _metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("token", String(42), primary_key=True),
    Column("recipient", String(42), primary_key=True),
    Column("block_number", BigInteger, primary_key=True, autoincrement=False),
    Column("transaction_hash", String(66), primary_key=True),
    Column("reason", Text, nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("due", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
)

Table(
    "refunds",
    _metadata,
    Column("id", String(200), primary_key=True),
    Column("order_id", ForeignKey("orders.id"), index=True),
    Column("chain_id", BigInteger, nullable=False),
    Column("token", String(42), nullable=False),
    Column("recipient", String(42), nullable=False),
    Column("amount", _UNITS, nullable=False),
    Column("transfer_hash", String(66)),
    Column("transfer_position", Integer),
    Column("state", String(40), nullable=False),
    Column("step", String(40), nullable=False),
    Index("refunds_state", "state", "step"),
    Index("refunds_transfer", "chain_id", "transfer_hash", "transfer_position", unique=True),
)

Table(
    "payouts",
    _metadata,
    Column("id", String(66), primary_key=True),
    Column("chain_id", BigInteger, nullable=False),
    Column("token", String(42), nullable=False),
    Column("contract", String(42), nullable=False),
    Column("state", String(40), nullable=False),
    Column("step", String(40), nullable=False),
    Index("payouts_state", "state", "step"),
)

Table(
    "payout_legs",
    _metadata,
    Column("payout_id", ForeignKey("payouts.id"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("recipient", String(42), nullable=False),
    Column("amount", _UNITS, nullable=False),
)

Table(
    "timeline",
    _metadata,
    Column("id", Integer, primary_key=True),
    Column("subject", String(40), nullable=False),
    Column("subject_id", String(200), nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("trigger", String(60), nullable=False),
    Column("before", String(60)),
    Column("after", String(60), nullable=False),
    Column("details", Text, nullable=False),
    Column("fanned_out", Boolean, nullable=False),
    Index("timeline_fanned_out", "fanned_out", "id"),
    Index("timeline_subject", "subject", "subject_id", "id"),
)

Table(
    "api_keys",
    _metadata,
    Column("id", String(20), primary_key=True),
    Column("name", String(64), nullable=False),
    Column("role", String(40), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("revoked", BigInteger),
)

Table(
    "sessions",
    _metadata,
    Column("hash", String(64), primary_key=True),
    Column("key_id", ForeignKey("api_keys.id"), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("used", BigInteger, nullable=False),
    Index("sessions_key", "key_id", "created"),
)

Table(
    "requests",
    _metadata,
    Column("key", String(255), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("owner", String(100), nullable=False),
    Column("leased_until", Float, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("status", Integer),
    Column("answer", LargeBinary),
)

Table(
    "webhooks",
    _metadata,
    Column("id", String(40), primary_key=True),
    Column("url", Text, nullable=False),
    Column("origin", String(40), nullable=False),
    Column("secret", String(100)),
    Column("created", BigInteger, nullable=False),
    Column("retired", BigInteger),
    Column("since", BigInteger, nullable=False),
    Column("events", Text),
    Column("previous_secret", String(100)),
    Column("previous_secret_expires", BigInteger),
)

Table(
    "deliveries",
    _metadata,
    Column("id", Integer, primary_key=True),
    Column("webhook_id", ForeignKey("webhooks.id"), nullable=False),
    Column("event_id", ForeignKey("timeline.id"), nullable=False),
    Column("subject", String(40), nullable=False),
    Column("subject_id", String(200), nullable=False),
    Column("state", String(40), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_attempt", Float, nullable=False),
    Column("leased_until", Float, nullable=False),
    Column("leased_by", String(100)),
    Column("error", Text, nullable=False),
    UniqueConstraint("webhook_id", "event_id"),
    Index("deliveries_next_attempt", "webhook_id", "state", "next_attempt"),
    Index("deliveries_order", "webhook_id", "subject", "subject_id", "state", "event_id"),
    Index("deliveries_state", "state", "id"),
)

Table(
    "processes",
    _metadata,
    Column("id", String(64), primary_key=True),
    Column("seen", Float, nullable=False),
)

Table(
    "service_keys",
    _metadata,
    Column("purpose", String(40), primary_key=True),
    Column("key", LargeBinary(32), nullable=False),
)

Table(
    "x402_settlements",
    _metadata,
    Column("id", String(200), primary_key=True),
    Column("chain_id", BigInteger, nullable=False),
    Column("contract", String(42), nullable=False),
    Column("payer", String(42), nullable=False),
    Column("nonce", LargeBinary(32), nullable=False),
    Column("digest", LargeBinary(32), nullable=False),
    Column("token", String(42), nullable=False),
    Column("payee", String(42)),
    Column("amount", _UNITS),
    Column("deadline", _UNITS),
    Column("state", String(40), nullable=False),
    Column("step", String(40), nullable=False),
    UniqueConstraint("chain_id", "contract", "payer", "nonce"),
)

Table(
    "x402_payer_locks",
    _metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("payer", String(42), primary_key=True),
    Column("holder", String(200)),
    Column("taken", BigInteger, nullable=False),
)

Table(
    "x402_grants",
    _metadata,
    Column("id", String(200), primary_key=True),
    Column("request", LargeBinary(32), nullable=False),
    Column("payment", Text, nullable=False),
    Column("requirements", Text, nullable=False),
    Column("deadline", _UNITS),
    Column("lease", BigInteger, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("charged", _UNITS),
    Column("status", Integer),
    Column("headers", Text),
    Column("body", LargeBinary),
    Column("settlement", Text),
    Column("transaction_hash", String(66)),
    Column("state", String(40), nullable=False),
    Column("step", String(40), nullable=False),
    Index("x402_grants_state", "state", "step"),
)

Table(
    "x402_channels",
    _metadata,
    Column("id", String(66), primary_key=True),
    Column("record", Text, nullable=False),
)

Table(
    "purchases",
    _metadata,
    Column("id", String(64), primary_key=True),
    Column("payer", String(42), nullable=False),
    Column("session", String(200), nullable=False),
    Column("day", String(10), nullable=False),
    Column("reserved_at", BigInteger, nullable=False),
    Column("open_key", String(64), unique=True),
    Column("subject", Text, nullable=False),
    Column("scheme", String(40), nullable=False),
    Column("network", String(60), nullable=False),
    Column("asset", String(42), nullable=False),
    Column("payee", String(42), nullable=False),
    Column("amount", _UNITS, nullable=False),
    Column("settled", _UNITS),
    Column("contract", String(42)),
    Column("nonce", LargeBinary(32)),
    Column("valid_before", BigInteger),
    Column("transaction_hash", String(66)),
    Column("status_url", Text),
    Column("report_source", String(40), nullable=False),
    Column("state", String(40), nullable=False),
    Column("step", String(40), nullable=False),
    Index("purchases_state", "state", "step"),
    Index("purchases_transaction", "transaction_hash"),
)

Table(
    "budgets",
    _metadata,
    Column("payer", String(42), primary_key=True),
    Column("network", String(60), primary_key=True),
    Column("asset", String(42), primary_key=True),
    Column("period", String(220), primary_key=True),
    Column("committed", _UNITS, nullable=False),
)

Table(
    "buyer_channels",
    _metadata,
    Column("payer", String(42), primary_key=True),
    Column("channel", String(66), primary_key=True),
    Column("record", Text, nullable=False),
)


def upgrade() -> None:
    """Create the tables. Fails if one of them exists."""
    _metadata.create_all(op.get_bind(), checkfirst=False)
