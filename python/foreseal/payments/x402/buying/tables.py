"""The buyer's tables, in the same database as the ledger's; columns as there."""

from enum import StrEnum

from sqlalchemy import BigInteger, Column, Index, LargeBinary, String, Table, Text

from foreseal.payments.ledger.columns import Units, Word
from foreseal.payments.ledger.tables import metadata


class Stage(StrEnum):
    """What a purchase has come to.

    ```text
    Reserved --signed and stored--> Presented --+--> Spent
        |                                       |      ^
        '---------------------------------------+--> Returned      a return that was believed, disproved by the chain
    ```
    """

    RESERVED = "Reserved"
    """The amount counts; nothing was signed, or what was signed never left the process."""
    PRESENTED = "Presented"
    """The signature is on its way, or there: until its outcome is known, it may be settled."""
    SPENT = "Spent"
    RETURNED = "Returned"
    """Nothing of it counts."""


class Proof(StrEnum):
    """Why it is known what became of a purchase."""

    UNSENT = "unsent"
    """It never left this machine."""
    SELLER = "seller"
    """The seller says so."""
    CHAIN = "chain"
    """A final block says so."""


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
    Column("stage", Word(Stage), nullable=False),
    Column("proof", Word(Proof)),
    # By which the chain knows the payment (`identities.PaymentKey`), and its end.
    Column("contract", String(42)),
    Column("nonce", LargeBinary(32)),
    Column("valid_before", BigInteger),
    Column("transaction_hash", String(66)),
    Column("status_url", Text),
    Index("purchases_stage", "stage", "proof"),
    Index("purchases_transaction", "transaction_hash"),
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
    Column("state", Text, nullable=False),
)
