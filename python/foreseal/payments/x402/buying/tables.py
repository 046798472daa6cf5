"""The buyer's tables, in the same database as the ledger's; columns as there."""

from sqlalchemy import BigInteger, Column, Index, LargeBinary, String, Table, Text

from foreseal.payments.ledger.columns import Units, Word
from foreseal.payments.ledger.states import PURCHASE, PurchaseState, Step
from foreseal.payments.ledger.tables import metadata
from foreseal.payments.ledger.transitions import TRANSITIONS

purchases = Table(
    "purchases",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("payer", String(42), nullable=False),
    Column("session", String(200), nullable=False),
    Column("day", String(10), nullable=False),
    Column("reserved_at", BigInteger, nullable=False),
    # Of what must not be signed for again until the outcome is known; null as soon as it is.
    Column("open_key", String(64), unique=True),
    Column("subject", Text, nullable=False),
    Column("scheme", String(40), nullable=False),
    Column("network", String(60), nullable=False),
    Column("asset", String(42), nullable=False),
    Column("payee", String(42), nullable=False),
    Column("amount", Units, nullable=False),
    Column("settled", Units),
    # By which the chain knows the payment (`identities.PaymentKey`), and its end.
    Column("contract", String(42)),
    Column("nonce", LargeBinary(32)),
    Column("valid_before", BigInteger),
    Column("transaction_hash", String(66)),
    Column("status_url", Text),
    Column("state", Word(PurchaseState), nullable=False),
    Column("step", Word(Step), nullable=False),
    Index("purchases_place", "state", "step"),
    Index("purchases_transaction", "transaction_hash"),
    info={TRANSITIONS: PURCHASE},
)

budgets = Table(
    "budgets",
    metadata,
    Column("payer", String(42), primary_key=True),
    Column("network", String(60), primary_key=True),
    Column("asset", String(42), primary_key=True),
    # "session" and its name, or "day" and its date in UTC.
    Column("period", String(220), primary_key=True),
    # Reserved, presented and spent: what the sum over the purchases of the period is.
    Column("committed", Units, nullable=False),
)

channels = Table(
    "buyer_channels",
    metadata,
    Column("payer", String(42), primary_key=True),
    Column("channel", String(66), primary_key=True),
    Column("record", Text, nullable=False),
)
