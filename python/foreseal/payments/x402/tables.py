"""Tables of x402: settlements and payer locks of a facilitator, grants and channels of a seller.

Columns have the same units as in `ledger.tables`.
"""

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, String, Table, Text, UniqueConstraint

from foreseal.payments.ledger.columns import EnumText, Units
from foreseal.payments.ledger.states import (
    GRANT_TRANSITIONS,
    SETTLEMENT_TRANSITIONS,
    Finality,
    GrantState,
    SettlementState,
    TxStatus,
)
from foreseal.payments.ledger.tables import metadata
from foreseal.payments.ledger.transitions import TRANSITIONS_KEY

NAME = 200
"""Maximum characters of a payment's name."""

settlements = Table(
    "x402_settlements",
    metadata,
    Column("id", String(NAME), primary_key=True),
    Column("chain_id", BigInteger, nullable=False),
    Column("contract", String(42), nullable=False),
    Column("payer", String(42), nullable=False),
    Column("nonce", LargeBinary(32), nullable=False),
    # Hash of the payer's payload and the seller's demand; a repeated settlement must match it.
    Column("digest", LargeBinary(32), nullable=False),
    Column("token", String(42), nullable=False),
    Column("payee", String(42)),
    Column("amount", Units),
    # Signed by the payer: a uint256.
    Column("deadline", Units),
    Column("state", EnumText(SettlementState), nullable=False),
    Column("step", EnumText(TxStatus, Finality), nullable=False),
    UniqueConstraint("chain_id", "contract", "payer", "nonce"),
    info={TRANSITIONS_KEY: SETTLEMENT_TRANSITIONS},
)

payer_locks = Table(
    "x402_turns",
    metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("payer", String(42), primary_key=True),
    # The settlement in flight; null while the next one may be simulated.
    Column("holder", String(NAME)),
    Column("taken", BigInteger, nullable=False),
)

grants = Table(
    "x402_grants",
    metadata,
    Column("id", String(NAME), primary_key=True),
    # Hash of the paid request: method, path, query and body.
    Column("request", LargeBinary(32), nullable=False),
    Column("payment", Text, nullable=False),
    Column("requirements", Text, nullable=False),
    # Signed by the payer: a uint256.
    Column("deadline", Units),
    # Until this time a process is settling it.
    Column("lease", BigInteger, nullable=False),
    Column("charged", Units),
    Column("status", Integer),
    Column("headers", Text),
    Column("body", LargeBinary),
    Column("settlement", Text),
    Column("transaction_hash", String(66)),
    Column("state", EnumText(GrantState), nullable=False),
    Column("step", EnumText(TxStatus, Finality), nullable=False),
    Index("x402_grants_place", "state", "step"),
    info={TRANSITIONS_KEY: GRANT_TRANSITIONS},
)

channels = Table(
    "x402_channels",
    metadata,
    Column("id", String(66), primary_key=True),
    Column("record", Text, nullable=False),
)
