"""Schema 3: the tables of the versions before migrations. A database of such a version lacks the unused ones."""

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
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
)

revision = "0003"
down_revision = None
branch_labels = None
depends_on = None

# A uint256: decimal text of fixed width, or a number on PostgreSQL.
_UNITS = String(78).with_variant(Numeric(78, 0), "postgresql")
_metadata = MetaData()

Table(
    "orders",
    _metadata,
    Column("id", String(200), primary_key=True),
    Column("chain_id", BigInteger, nullable=False),
    Column("token", String(42), nullable=False),
    Column("payer", String(42), nullable=False),
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
    Column("state", String(40), nullable=False),
    Column("step", String(40), nullable=False),
    Index("orders_place", "state", "step"),
    Index("orders_nonce", "chain_id", "token", "payer", "nonce"),
)

Table(
    "authorizations",
    _metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("contract", String(42), primary_key=True),
    Column("payer", String(42), primary_key=True),
    Column("nonce", LargeBinary(32), primary_key=True),
    Column("order_id", ForeignKey("orders.id"), nullable=False, unique=True),
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
    Column("ending", String(40)),
    UniqueConstraint("chain_id", "sender", "account_nonce"),
    UniqueConstraint("purpose", "subject", "round"),
    Index("transactions_ending", "ending"),
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
    UniqueConstraint("chain_id", "block_hash", "transaction_hash", "log_index"),
    Index("transfers_block", "chain_id", "token", "recipient", "block_number"),
    Index("transfers_step", "chain_id", "token", "recipient", "step", "block_number"),
)

Table(
    "suspense",
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
    "refunds",
    _metadata,
    Column("id", String(200), primary_key=True),
    Column("order_id", ForeignKey("orders.id"), nullable=False, index=True),
    Column("chain_id", BigInteger, nullable=False),
    Column("token", String(42), nullable=False),
    Column("recipient", String(42), nullable=False),
    Column("amount", _UNITS, nullable=False),
    Column("state", String(40), nullable=False),
    Column("step", String(40), nullable=False),
    Index("refunds_place", "state", "step"),
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
    Index("payouts_place", "state", "step"),
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
    Column("told", Boolean, nullable=False),
    Index("timeline_told", "told", "id"),
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
    "hooks",
    _metadata,
    Column("id", String(40), primary_key=True),
    Column("url", Text, nullable=False),
    Column("origin", String(40), nullable=False),
    Column("secret", String(100)),
    Column("created", BigInteger, nullable=False),
    Column("retired", BigInteger),
    Column("since", BigInteger, nullable=False),
)

Table(
    "deliveries",
    _metadata,
    Column("id", Integer, primary_key=True),
    Column("hook_id", ForeignKey("hooks.id"), nullable=False),
    Column("entry_id", ForeignKey("timeline.id"), nullable=False),
    Column("subject", String(40), nullable=False),
    Column("subject_id", String(200), nullable=False),
    Column("state", String(40), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due", Float, nullable=False),
    Column("leased_until", Float, nullable=False),
    Column("error", Text, nullable=False),
    UniqueConstraint("hook_id", "entry_id"),
    Index("deliveries_due", "hook_id", "state", "due"),
    Index("deliveries_state", "state", "id"),
    Index("deliveries_order", "hook_id", "subject", "subject_id", "state", "entry_id"),
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
    "processes",
    _metadata,
    Column("id", String(64), primary_key=True),
    Column("seen", Float, nullable=False),
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
    "x402_turns",
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
    Column("charged", _UNITS),
    Column("status", Integer),
    Column("headers", Text),
    Column("body", LargeBinary),
    Column("settlement", Text),
    Column("transaction_hash", String(66)),
    Column("state", String(40), nullable=False),
    Column("step", String(40), nullable=False),
    Index("x402_grants_place", "state", "step"),
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
    Column("state", String(40), nullable=False),
    Column("step", String(40), nullable=False),
    Index("purchases_place", "state", "step"),
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
    """Create the tables that do not exist."""
    _metadata.create_all(op.get_bind())
