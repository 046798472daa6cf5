"""The buyer's tables, in the ledger's database. Columns have the same units as in `ledger.tables`."""

from sqlalchemy import BigInteger, Column, Index, LargeBinary, String, Table, Text

from foreseal.payments.ledger.columns import EnumText, Units
from foreseal.payments.ledger.states import PURCHASE_TRANSITIONS, Finality, PurchaseState, TxStatus
from foreseal.payments.ledger.tables import metadata
from foreseal.payments.ledger.transitions import TRANSITIONS_KEY

purchases = Table(
    "purchases",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("payer", String(42), nullable=False),
    Column("session", String(200), nullable=False),
    Column("day", String(10), nullable=False),
    Column("reserved_at", BigInteger, nullable=False),
    # Blocks a second signature for the same subject; null once the outcome is known.
    Column("open_key", String(64), unique=True),
    Column("subject", Text, nullable=False),
    Column("scheme", String(40), nullable=False),
    Column("network", String(60), nullable=False),
    Column("asset", String(42), nullable=False),
    Column("payee", String(42), nullable=False),
    Column("amount", Units, nullable=False),
    Column("settled", Units),
    # Key of the payment on the chain (`payment_key.PaymentKey`), and its expiry.
    Column("contract", String(42)),
    Column("nonce", LargeBinary(32)),
    Column("valid_before", BigInteger),
    Column("transaction_hash", String(66)),
    Column("status_url", Text),
    Column("state", EnumText(PurchaseState), nullable=False),
    Column("step", EnumText(TxStatus, Finality), nullable=False),
    Index("purchases_place", "state", "step"),
    Index("purchases_transaction", "transaction_hash"),
    info={TRANSITIONS_KEY: PURCHASE_TRANSITIONS},
)

budgets = Table(
    "budgets",
    metadata,
    Column("payer", String(42), primary_key=True),
    Column("network", String(60), primary_key=True),
    Column("asset", String(42), primary_key=True),
    # "session" and its name, or "day" and its UTC date.
    Column("period", String(220), primary_key=True),
    # Sum of reserved, presented and spent amounts of the period's purchases.
    Column("committed", Units, nullable=False),
)

channels = Table(
    "buyer_channels",
    metadata,
    Column("payer", String(42), primary_key=True),
    Column("channel", String(66), primary_key=True),
    Column("record", Text, nullable=False),
)
