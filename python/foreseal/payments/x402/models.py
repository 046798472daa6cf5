"""Records of x402: settlements and payer locks of a facilitator, grants and channels of a seller.

Columns have the same units as in `ledger.models`.
"""

from sqlalchemy import BigInteger, Index, Integer, LargeBinary, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from foreseal.payments.ledger.columns import EnumText, Units
from foreseal.payments.ledger.record import Record, StatefulRecord
from foreseal.payments.ledger.states import (
    GRANT_TRANSITIONS,
    SETTLEMENT_TRANSITIONS,
    Finality,
    GrantState,
    SettlementState,
    TxStatus,
)

NAME = 200
"""Maximum characters of a payment's name."""


class SettlementRecord(StatefulRecord):
    """A settlement of a facilitator."""

    __tablename__ = "x402_settlements"
    __table_args__ = (UniqueConstraint("chain_id", "contract", "payer", "nonce"),)
    transitions = SETTLEMENT_TRANSITIONS

    id: Mapped[str] = mapped_column(String(NAME), primary_key=True)
    chain_id: Mapped[int] = mapped_column(BigInteger)
    contract: Mapped[str] = mapped_column(String(42))
    payer: Mapped[str] = mapped_column(String(42))
    nonce: Mapped[bytes] = mapped_column(LargeBinary(32))
    # Hash of the payer's payload and the seller's demand; a repeated settlement must match it.
    digest: Mapped[bytes] = mapped_column(LargeBinary(32))
    token: Mapped[str] = mapped_column(String(42))
    payee: Mapped[str | None] = mapped_column(String(42))
    amount: Mapped[int | None] = mapped_column(Units)
    # Signed by the payer: a uint256.
    deadline: Mapped[int | None] = mapped_column(Units)
    state: Mapped[SettlementState] = mapped_column(EnumText(SettlementState))
    step: Mapped[TxStatus | Finality] = mapped_column(EnumText(TxStatus, Finality))


class PayerLockRecord(Record):
    """A payer's lock at a facilitator."""

    __tablename__ = "x402_payer_locks"

    chain_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    payer: Mapped[str] = mapped_column(String(42), primary_key=True)
    # The settlement in flight; null while the next one may be simulated.
    holder: Mapped[str | None] = mapped_column(String(NAME))
    taken: Mapped[int] = mapped_column(BigInteger)


class GrantRecord(StatefulRecord):
    """A paid request of a seller."""

    __tablename__ = "x402_grants"
    __table_args__ = (Index("x402_grants_state", "state", "step"),)
    transitions = GRANT_TRANSITIONS

    id: Mapped[str] = mapped_column(String(NAME), primary_key=True)
    # Hash of the paid request: method, path, query and body.
    request: Mapped[bytes] = mapped_column(LargeBinary(32))
    payment: Mapped[str] = mapped_column(Text)
    requirements: Mapped[str] = mapped_column(Text)
    # Signed by the payer: a uint256.
    deadline: Mapped[int | None] = mapped_column(Units)
    # Until this time a process runs the handler or settles; 0 if none does.
    lease: Mapped[int] = mapped_column(BigInteger)
    # Number of the newest lease: a run with an older one writes nothing.
    fence: Mapped[int] = mapped_column(BigInteger)
    charged: Mapped[int | None] = mapped_column(Units)
    status: Mapped[int | None] = mapped_column(Integer)
    headers: Mapped[str | None] = mapped_column(Text)
    body: Mapped[bytes | None] = mapped_column(LargeBinary)
    settlement: Mapped[str | None] = mapped_column(Text)
    transaction_hash: Mapped[str | None] = mapped_column(String(66))
    state: Mapped[GrantState] = mapped_column(EnumText(GrantState))
    step: Mapped[TxStatus | Finality] = mapped_column(EnumText(TxStatus, Finality))


class SellerChannelRecord(Record):
    """A payment channel of a seller."""

    __tablename__ = "x402_channels"

    id: Mapped[str] = mapped_column(String(66), primary_key=True)
    record: Mapped[str] = mapped_column(Text)
