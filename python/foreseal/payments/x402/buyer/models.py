"""The buyer's records, in the ledger's database. Columns have the same units as in `ledger.models`."""

from sqlalchemy import BigInteger, Index, LargeBinary, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from foreseal.payments.ledger.columns import EnumText, Units
from foreseal.payments.ledger.record import Record, StatefulRecord
from foreseal.payments.ledger.states import PURCHASE_TRANSITIONS, Finality, PurchaseState, TxStatus
from foreseal.payments.x402.buyer.spending_policy import ReportSource


class PurchaseRecord(StatefulRecord):
    """A purchase of a buyer."""

    __tablename__ = "purchases"
    __table_args__ = (
        Index("purchases_state", "state", "step"),
        Index("purchases_transaction", "transaction_hash"),
    )
    transitions = PURCHASE_TRANSITIONS

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    payer: Mapped[str] = mapped_column(String(42))
    session: Mapped[str] = mapped_column(String(200))
    day: Mapped[str] = mapped_column(String(10))
    reserved_at: Mapped[int] = mapped_column(BigInteger)
    # Blocks a second signature for the same subject; null once the outcome is known.
    open_key: Mapped[str | None] = mapped_column(String(64), unique=True)
    subject: Mapped[str] = mapped_column(Text)
    scheme: Mapped[str] = mapped_column(String(40))
    network: Mapped[str] = mapped_column(String(60))
    asset: Mapped[str] = mapped_column(String(42))
    payee: Mapped[str] = mapped_column(String(42))
    amount: Mapped[int] = mapped_column(Units)
    settled: Mapped[int | None] = mapped_column(Units)
    # Key of the payment on the chain (`payment_key.PaymentKey`), and its expiry.
    contract: Mapped[str | None] = mapped_column(String(42))
    nonce: Mapped[bytes | None] = mapped_column(LargeBinary(32))
    valid_before: Mapped[int | None] = mapped_column(BigInteger)
    transaction_hash: Mapped[str | None] = mapped_column(String(66))
    status_url: Mapped[str | None] = mapped_column(Text)
    # Source whose reports may lower the counted amount, as of the reservation.
    report_source: Mapped[ReportSource] = mapped_column(EnumText(ReportSource))
    state: Mapped[PurchaseState] = mapped_column(EnumText(PurchaseState))
    step: Mapped[TxStatus | Finality] = mapped_column(EnumText(TxStatus, Finality))


class BudgetRecord(Record):
    """The committed amount of one period."""

    __tablename__ = "budgets"

    payer: Mapped[str] = mapped_column(String(42), primary_key=True)
    network: Mapped[str] = mapped_column(String(60), primary_key=True)
    asset: Mapped[str] = mapped_column(String(42), primary_key=True)
    # "session" and its name, or "day" and its UTC date.
    period: Mapped[str] = mapped_column(String(220), primary_key=True)
    # Sum of reserved, presented and spent amounts of the period's purchases.
    committed: Mapped[int] = mapped_column(Units)


class BuyerChannelRecord(Record):
    """A payment channel of a buyer."""

    __tablename__ = "buyer_channels"

    payer: Mapped[str] = mapped_column(String(42), primary_key=True)
    channel: Mapped[str] = mapped_column(String(66), primary_key=True)
    record: Mapped[str] = mapped_column(Text)
