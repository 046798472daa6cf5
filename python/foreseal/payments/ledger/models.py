"""Records of the ledger. A unique key protects everything that must not happen twice; a check in memory cannot.

Addresses are texts with EIP-55 checksum, hashes lower-case 0x texts, times seconds since 1970, and amounts smallest
units.
"""

from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from foreseal.payments.ledger.columns import EnumText, Units
from foreseal.payments.ledger.record import Record, StatefulRecord
from foreseal.payments.ledger.states import (
    DISBURSEMENT_TRANSITIONS,
    ORDER_TRANSITIONS,
    DisbursementState,
    Finality,
    OrderState,
    TxStatus,
)


class Purpose(StrEnum):
    """Purpose of a transaction."""

    CAPTURE = "capture"
    CAPTURE_BATCH = "capture_batch"
    """Captures of the orders that refer to its subject in `capture_batch`."""
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
    SHARED_PAYEE = "shared_payee"
    """No sale of this database has its authorization: another service with the payee may have delivered for it."""
    GRANTED = "granted"
    """It pays an x402 response. Only the event of the order that it refers to has this reason."""
    CHANNEL_PAYOUT = "channel_payout"
    """It came out of x402 payment channels, for vouchers that paid responses."""
    SWEEP = "sweep"
    """It moved to the merchant what its batch capture contract had received in earlier transactions."""


metadata = Record.metadata
"""Tables of all records that are imported."""

_UNASSIGNED = text("payer IS NULL")
_IN_FLIGHT = text("code_gas IS NOT NULL")


class OrderRecord(StatefulRecord):
    """An order: its terms, its signature and its state."""

    __tablename__ = "orders"
    __table_args__ = (
        Index("orders_state", "state", "step"),
        Index("orders_nonce", "chain_id", "token", "payer", "nonce"),
        Index("orders_created", "created"),
        Index("orders_amount", "amount"),
        Index("orders_reference", "reference"),
        Index("orders_capture_batch", "capture_batch", "state", "step"),
        # A transfer with the nonce of an order without a payer refers to it. Rows of other orders are not in the index.
        Index(
            "orders_unassigned", "chain_id", "token", "nonce", sqlite_where=_UNASSIGNED, postgresql_where=_UNASSIGNED
        ),
    )
    transitions = ORDER_TRANSITIONS

    id: Mapped[str] = mapped_column(String(200), primary_key=True)
    chain_id: Mapped[int] = mapped_column(BigInteger)
    token: Mapped[str] = mapped_column(String(42))
    # Null until a signature assigns the payer.
    payer: Mapped[str | None] = mapped_column(String(42))
    payee: Mapped[str] = mapped_column(String(42))
    amount: Mapped[int] = mapped_column(Units)
    valid_after: Mapped[int] = mapped_column(BigInteger)
    valid_before: Mapped[int] = mapped_column(BigInteger)
    nonce: Mapped[bytes] = mapped_column(LargeBinary(32))
    memo: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    # Set if a permit pays the order: `amount` is then the maximum, and `nonce` the order's id at the checkout.
    checkout: Mapped[str | None] = mapped_column(String(42))
    permit_nonce: Mapped[int | None] = mapped_column(Units)
    actual: Mapped[int | None] = mapped_column(Units)
    signature: Mapped[bytes | None] = mapped_column(LargeBinary)
    since_block: Mapped[int] = mapped_column(BigInteger)
    created: Mapped[int] = mapped_column(BigInteger)
    # The merchant's own reference and data. The ledger only stores them.
    reference: Mapped[str | None] = mapped_column(String(200))
    metadata_json: Mapped[str | None] = mapped_column(Text)
    # Pages of the shop to which the checkout page returns.
    success_url: Mapped[str | None] = mapped_column(Text)
    cancel_url: Mapped[str | None] = mapped_column(Text)
    # True if the service captures the order as soon as it is stored.
    auto_capture: Mapped[bool] = mapped_column(Boolean, default=False)
    # The node's last rejection of the order's transaction.
    last_error: Mapped[str | None] = mapped_column(Text)
    # Subject of the newest transaction that captures it through the batch capture contract.
    capture_batch: Mapped[str | None] = mapped_column(String(200))
    state: Mapped[OrderState] = mapped_column(EnumText(OrderState))
    step: Mapped[TxStatus | Finality] = mapped_column(EnumText(TxStatus, Finality))


class AuthorizationRecord(Record):
    """The one sale that an authorization pays, an order or a grant: its contract accepts the nonce once."""

    __tablename__ = "authorizations"
    __table_args__ = (
        CheckConstraint("(order_id IS NULL) <> (grant_id IS NULL)", name="authorizations_one_sale"),
        Index("authorizations_payment", "chain_id", "payer", "transaction_hash"),
    )

    chain_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    # Contract that consumes the nonce: the token (EIP-3009), Permit2, a checkout, or that of the payment channels.
    contract: Mapped[str] = mapped_column(String(42), primary_key=True)
    payer: Mapped[str] = mapped_column(String(42), primary_key=True)
    nonce: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    order_id: Mapped[str | None] = mapped_column(ForeignKey("orders.id"), unique=True)
    # Id of the seller's grant of a response. The further columns describe its transfer to the payee.
    grant_id: Mapped[str | None] = mapped_column(String(200), unique=True)
    payee: Mapped[str | None] = mapped_column(String(42))
    # Null until the charge is decided.
    amount: Mapped[int | None] = mapped_column(Units)
    # Hash of the transaction that settled it. The transfer of a Permit2 payment logs no nonce.
    transaction_hash: Mapped[str | None] = mapped_column(String(66))


class AccountRecord(Record):
    """The next nonce of an account that signs transactions."""

    __tablename__ = "accounts"

    chain_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    address: Mapped[str] = mapped_column(String(42), primary_key=True)
    next_nonce: Mapped[int] = mapped_column(BigInteger)


class TransactionRecord(Record):
    """An intent: a transaction with one account nonce."""

    __tablename__ = "transactions"
    __table_args__ = (
        UniqueConstraint("chain_id", "sender", "account_nonce"),
        UniqueConstraint("purpose", "subject", "round"),
        Index("transactions_ending", "ending", "purpose"),
        Index("transactions_code_gas", "chain_id", "code_gas", sqlite_where=_IN_FLIGHT, postgresql_where=_IN_FLIGHT),
    )

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    chain_id: Mapped[int] = mapped_column(BigInteger)
    sender: Mapped[str] = mapped_column(String(42))
    account_nonce: Mapped[int] = mapped_column(BigInteger)
    purpose: Mapped[Purpose] = mapped_column(EnumText(Purpose))
    subject: Mapped[str] = mapped_column(String(200))
    round: Mapped[int] = mapped_column(Integer)
    target: Mapped[str] = mapped_column(String(42))
    data: Mapped[bytes] = mapped_column(LargeBinary)
    gas: Mapped[int] = mapped_column(BigInteger)
    # Gas limit of a transaction in which the code of a payer runs, until its first receipt is recorded; else null.
    code_gas: Mapped[int | None] = mapped_column(BigInteger)
    ending: Mapped[TxResult | None] = mapped_column(EnumText(TxResult))
    # The node's last rejection, and the block since which it has rejected the transaction; null once it accepts it.
    rejection: Mapped[str | None] = mapped_column(Text)
    rejected_since: Mapped[int | None] = mapped_column(BigInteger)


class AttemptRecord(Record):
    """A signed form of a transaction. Attempts differ in their fees; an empty one only takes the account nonce."""

    __tablename__ = "attempts"

    transaction_id: Mapped[int] = mapped_column(ForeignKey("transactions.id"), primary_key=True)
    ordinal: Mapped[int] = mapped_column(Integer, primary_key=True)
    hash: Mapped[str] = mapped_column(String(66), unique=True)
    raw: Mapped[bytes] = mapped_column(LargeBinary)
    fee: Mapped[int] = mapped_column(Units)
    priority_fee: Mapped[int] = mapped_column(Units)
    since_block: Mapped[int] = mapped_column(BigInteger)
    # True for a transfer of 0 wei to the account itself, in place of a transaction that the node never accepts.
    is_empty: Mapped[bool] = mapped_column(Boolean, default=False)


class LostGasRecord(Record):
    """Gas of a transaction, or of a share of it, that a payer made revert."""

    __tablename__ = "lost_gas"
    __table_args__ = (Index("lost_gas_time", "chain_id", "time"),)

    chain_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    transaction_hash: Mapped[str] = mapped_column(String(66), primary_key=True)
    payer: Mapped[str] = mapped_column(String(42), primary_key=True)
    # 0 if the payer did not cause the revert.
    gas: Mapped[int] = mapped_column(BigInteger)
    has_code: Mapped[bool] = mapped_column(Boolean)
    # Unix time in seconds at which it was read.
    time: Mapped[int] = mapped_column(BigInteger)


class TransferRecord(Record):
    """A transfer to the merchant on the chain."""

    __tablename__ = "transfers"
    __table_args__ = (
        UniqueConstraint("chain_id", "block_hash", "transaction_hash", "log_index"),
        CheckConstraint("order_id IS NULL OR grant_id IS NULL", name="transfers_one_sale"),
        Index("transfers_block", "chain_id", "token", "recipient", "block_number"),
        Index("transfers_step", "chain_id", "token", "recipient", "step", "block_number"),
        Index("transfers_nonce", "chain_id", "token", "sender", "nonce"),
        Index("transfers_grant", "grant_id", unique=True),
    )

    chain_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    transaction_hash: Mapped[str] = mapped_column(String(66), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    block_hash: Mapped[str] = mapped_column(String(66))
    log_index: Mapped[int] = mapped_column(Integer)
    block_number: Mapped[int] = mapped_column(BigInteger)
    token: Mapped[str] = mapped_column(String(42))
    sender: Mapped[str] = mapped_column(String(42))
    recipient: Mapped[str] = mapped_column(String(42))
    amount: Mapped[int] = mapped_column(Units)
    nonce: Mapped[bytes | None] = mapped_column(LargeBinary(32))
    memo: Mapped[bytes | None] = mapped_column(LargeBinary(32))
    checkout: Mapped[str | None] = mapped_column(String(42))
    step: Mapped[Finality] = mapped_column(EnumText(Finality))
    order_id: Mapped[str | None] = mapped_column(ForeignKey("orders.id"), unique=True)
    # Grant of the x402 response that it pays.
    grant_id: Mapped[str | None] = mapped_column(String(200))


class UnmatchedTransferRecord(Record):
    """A transfer that pays neither an order nor an x402 response."""

    __tablename__ = "unmatched_transfers"
    __table_args__ = (
        ForeignKeyConstraint(
            ["chain_id", "transaction_hash", "position"],
            ["transfers.chain_id", "transfers.transaction_hash", "transfers.position"],
        ),
        Index("unmatched_transfers_order", "order_id"),
    )

    chain_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    transaction_hash: Mapped[str] = mapped_column(String(66), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    reason: Mapped[Reason] = mapped_column(EnumText(Reason))
    order_id: Mapped[str | None] = mapped_column(ForeignKey("orders.id"))


class TransferEnd(StrEnum):
    """End of a transfer: it has at most one of these."""

    CAPTURED = "captured"
    """It pays an order."""
    GRANTED = "granted"
    """It pays an x402 response."""
    REFUNDED = "refunded"
    """Its refund is reserved or paid."""
    RESOLVED = "resolved"
    """A resolution without a refund is recorded."""


class TransferEndRecord(Record):
    """The one end of a transfer. A refund and a resolution survive a reorganization that removes the transfer."""

    __tablename__ = "transfer_ends"

    chain_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    transaction_hash: Mapped[str] = mapped_column(String(66), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    kind: Mapped[TransferEnd] = mapped_column(EnumText(TransferEnd))


class ResolutionRecord(Record):
    """A recorded resolution of an unmatched transfer."""

    __tablename__ = "resolutions"

    chain_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    transaction_hash: Mapped[str] = mapped_column(String(66), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    note: Mapped[str] = mapped_column(Text)
    resolved_by: Mapped[str] = mapped_column(String(20))
    time: Mapped[int] = mapped_column(BigInteger)


class CursorRecord(Record):
    """The last block of a scan for transfers."""

    __tablename__ = "cursors"

    chain_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    token: Mapped[str] = mapped_column(String(42), primary_key=True)
    recipient: Mapped[str] = mapped_column(String(42), primary_key=True)
    block_number: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    block_hash: Mapped[str] = mapped_column(String(66))


class SetAsideRecord(Record):
    """A transaction or block whose transfers the watcher could not read. The cursor goes on, and it is read again."""

    __tablename__ = "set_aside"

    chain_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    token: Mapped[str] = mapped_column(String(42), primary_key=True)
    recipient: Mapped[str] = mapped_column(String(42), primary_key=True)
    block_number: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    # Empty for a whole block.
    transaction_hash: Mapped[str] = mapped_column(String(66), primary_key=True)
    reason: Mapped[str] = mapped_column(Text)
    # Unix times in seconds of the first attempt and of the next one.
    since: Mapped[int] = mapped_column(BigInteger)
    due: Mapped[int] = mapped_column(BigInteger)
    attempts: Mapped[int] = mapped_column(Integer)


class RefundRecord(StatefulRecord):
    """A refund."""

    __tablename__ = "refunds"
    __table_args__ = (
        Index("refunds_state", "state", "step"),
        Index("refunds_transfer", "chain_id", "transfer_hash", "transfer_position", unique=True),
    )
    transitions = DISBURSEMENT_TRANSITIONS

    id: Mapped[str] = mapped_column(String(200), primary_key=True)
    # Captured order; null if an unmatched transfer is refunded.
    order_id: Mapped[str | None] = mapped_column(ForeignKey("orders.id"), index=True)
    chain_id: Mapped[int] = mapped_column(BigInteger)
    token: Mapped[str] = mapped_column(String(42))
    recipient: Mapped[str] = mapped_column(String(42))
    amount: Mapped[int] = mapped_column(Units)
    transfer_hash: Mapped[str | None] = mapped_column(String(66))
    transfer_position: Mapped[int | None] = mapped_column(Integer)
    state: Mapped[DisbursementState] = mapped_column(EnumText(DisbursementState))
    step: Mapped[TxStatus | Finality] = mapped_column(EnumText(TxStatus, Finality))


class PayoutRecord(StatefulRecord):
    """A batch of payouts."""

    __tablename__ = "payouts"
    __table_args__ = (Index("payouts_state", "state", "step"),)
    transitions = DISBURSEMENT_TRANSITIONS

    id: Mapped[str] = mapped_column(String(66), primary_key=True)
    chain_id: Mapped[int] = mapped_column(BigInteger)
    token: Mapped[str] = mapped_column(String(42))
    contract: Mapped[str] = mapped_column(String(42))
    state: Mapped[DisbursementState] = mapped_column(EnumText(DisbursementState))
    step: Mapped[TxStatus | Finality] = mapped_column(EnumText(TxStatus, Finality))


class PayoutLegRecord(Record):
    """One recipient of a payout."""

    __tablename__ = "payout_legs"

    payout_id: Mapped[str] = mapped_column(ForeignKey("payouts.id"), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    recipient: Mapped[str] = mapped_column(String(42))
    amount: Mapped[int] = mapped_column(Units)


class TimelineRecord(Record):
    """An entry of the timeline."""

    __tablename__ = "timeline"
    __table_args__ = (
        Index("timeline_fanned_out", "fanned_out", "id"),
        Index("timeline_subject", "subject", "subject_id", "id"),
    )

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    subject: Mapped[str] = mapped_column(String(40))
    subject_id: Mapped[str] = mapped_column(String(200))
    time: Mapped[int] = mapped_column(BigInteger)
    trigger: Mapped[str] = mapped_column(String(60))
    before: Mapped[str | None] = mapped_column(String(60))
    after: Mapped[str] = mapped_column(String(60))
    details: Mapped[str] = mapped_column(Text)
    # True once the entry is fanned out to webhooks. The timeline is their outbox.
    fanned_out: Mapped[bool] = mapped_column(Boolean, default=False)
