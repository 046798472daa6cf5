"""Tables of the ledger. A unique key protects everything that must not happen twice; a check in memory cannot.

Addresses are texts with EIP-55 checksum, hashes lower-case 0x texts, times seconds since 1970, and amounts smallest
units.
"""

from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from foreseal.payments.ledger.columns import EnumText, Units
from foreseal.payments.ledger.states import DisbursementState, Finality, OrderState, TxStatus

SCHEMA = 3
"""Version of these tables."""


class Purpose(StrEnum):
    """Purpose of a transaction."""

    CAPTURE = "capture"
    CANCEL = "cancel"
    REFUND = "refund"
    PAYOUT = "payout"
    SETTLE = "settle"


class TxResult(StrEnum):
    """Reason why a transaction needs no further tracking."""

    INCLUDED = "included"
    """A final block includes it."""
    REPLACED = "replaced"
    """It is final that another transaction used its account nonce."""


class Reason(StrEnum):
    """Reason why a transfer to the merchant matches no order."""

    UNDERPAID = "underpaid"
    OVERPAID = "overpaid"
    LATE = "late"
    """Its order was voided, canceled or expired."""
    DUPLICATE = "duplicate"
    """Another transfer already paid its order."""
    DIRECT = "direct"
    """It refers to an open order without using its authorization, which could still be captured."""
    UNMATCHED = "unmatched"
    """It refers to no order."""


STORED_REASONS = {Reason.UNDERPAID: "under", Reason.OVERPAID: "over", Reason.DUPLICATE: "double"}
"""Stored texts of reasons, where they differ."""
STORED_RESULTS = {TxResult.INCLUDED: "final", TxResult.REPLACED: "displaced"}
"""Stored texts of endings, where they differ."""

metadata = MetaData()

schema = Table("schema", metadata, Column("version", Integer, primary_key=True, autoincrement=False))

orders = Table(
    "orders",
    metadata,
    Column("id", String(200), primary_key=True),
    Column("chain_id", BigInteger, nullable=False),
    Column("token", String(42), nullable=False),
    Column("payer", String(42), nullable=False),
    Column("payee", String(42), nullable=False),
    Column("amount", Units, nullable=False),
    Column("valid_after", BigInteger, nullable=False),
    Column("valid_before", BigInteger, nullable=False),
    Column("nonce", LargeBinary(32), nullable=False),
    Column("memo", LargeBinary(32), nullable=False, unique=True),
    # Set if a permit pays the order: `amount` is then the maximum, and `nonce` the order's id at the checkout.
    Column("checkout", String(42)),
    Column("permit_nonce", Units),
    Column("actual", Units),
    Column("signature", LargeBinary),
    Column("since_block", BigInteger, nullable=False),
    Column("state", EnumText(OrderState), nullable=False),
    Column("step", EnumText(TxStatus, Finality), nullable=False),
    Index("orders_place", "state", "step"),
    Index("orders_nonce", "chain_id", "token", "payer", "nonce"),
)

authorizations = Table(
    "authorizations",
    metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    # Contract that consumes the nonce: the token (EIP-3009), or a checkout.
    Column("contract", String(42), primary_key=True),
    Column("payer", String(42), primary_key=True),
    Column("nonce", LargeBinary(32), primary_key=True),
    Column("order_id", ForeignKey("orders.id"), nullable=False, unique=True),
)

accounts = Table(
    "accounts",
    metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("address", String(42), primary_key=True),
    Column("next_nonce", BigInteger, nullable=False),
)

transactions = Table(
    "transactions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("chain_id", BigInteger, nullable=False),
    Column("sender", String(42), nullable=False),
    Column("account_nonce", BigInteger, nullable=False),
    Column("purpose", EnumText(Purpose), nullable=False),
    Column("subject", String(200), nullable=False),
    Column("round", Integer, nullable=False),
    Column("target", String(42), nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("gas", BigInteger, nullable=False),
    Column("ending", EnumText(TxResult, stored=STORED_RESULTS)),
    UniqueConstraint("chain_id", "sender", "account_nonce"),
    UniqueConstraint("purpose", "subject", "round"),
    Index("transactions_ending", "ending"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("transaction_id", ForeignKey("transactions.id"), primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    Column("hash", String(66), nullable=False, unique=True),
    Column("raw", LargeBinary, nullable=False),
    Column("fee", Units, nullable=False),
    Column("priority_fee", Units, nullable=False),
    Column("since_block", BigInteger, nullable=False),
)

transfers = Table(
    "transfers",
    metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("transaction_hash", String(66), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("block_hash", String(66), nullable=False),
    Column("log_index", Integer, nullable=False),
    Column("block_number", BigInteger, nullable=False),
    Column("token", String(42), nullable=False),
    Column("sender", String(42), nullable=False),
    Column("recipient", String(42), nullable=False),
    Column("amount", Units, nullable=False),
    Column("nonce", LargeBinary(32)),
    Column("memo", LargeBinary(32)),
    Column("checkout", String(42)),
    Column("step", EnumText(Finality), nullable=False),
    Column("order_id", ForeignKey("orders.id"), unique=True),
    UniqueConstraint("chain_id", "block_hash", "transaction_hash", "log_index"),
    Index("transfers_block", "chain_id", "token", "recipient", "block_number"),
    Index("transfers_step", "chain_id", "token", "recipient", "step", "block_number"),
)

unmatched_transfers = Table(
    "suspense",
    metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("transaction_hash", String(66), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("reason", EnumText(Reason, stored=STORED_REASONS), nullable=False),
    Column("order_id", ForeignKey("orders.id")),
    ForeignKeyConstraint(
        ["chain_id", "transaction_hash", "position"],
        ["transfers.chain_id", "transfers.transaction_hash", "transfers.position"],
    ),
)

cursors = Table(
    "cursors",
    metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("token", String(42), primary_key=True),
    Column("recipient", String(42), primary_key=True),
    Column("block_number", BigInteger, primary_key=True, autoincrement=False),
    Column("block_hash", String(66), nullable=False),
)

refunds = Table(
    "refunds",
    metadata,
    Column("id", String(200), primary_key=True),
    Column("order_id", ForeignKey("orders.id"), nullable=False, index=True),
    Column("chain_id", BigInteger, nullable=False),
    Column("token", String(42), nullable=False),
    Column("recipient", String(42), nullable=False),
    Column("amount", Units, nullable=False),
    Column("state", EnumText(DisbursementState), nullable=False),
    Column("step", EnumText(TxStatus, Finality), nullable=False),
    Index("refunds_place", "state", "step"),
)

payouts = Table(
    "payouts",
    metadata,
    Column("id", String(66), primary_key=True),
    Column("chain_id", BigInteger, nullable=False),
    Column("token", String(42), nullable=False),
    Column("contract", String(42), nullable=False),
    Column("state", EnumText(DisbursementState), nullable=False),
    Column("step", EnumText(TxStatus, Finality), nullable=False),
    Index("payouts_place", "state", "step"),
)

payout_legs = Table(
    "payout_legs",
    metadata,
    Column("payout_id", ForeignKey("payouts.id"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("recipient", String(42), nullable=False),
    Column("amount", Units, nullable=False),
)

timeline = Table(
    "timeline",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("subject", String(40), nullable=False),
    Column("subject_id", String(200), nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("trigger", String(60), nullable=False),
    Column("before", String(60)),
    Column("after", String(60), nullable=False),
    Column("details", Text, nullable=False),
    # True once the entry is fanned out to webhooks. The timeline is their outbox.
    Column("told", Boolean, nullable=False, default=False),
    Index("timeline_told", "told", "id"),
    Index("timeline_subject", "subject", "subject_id", "id"),
)
