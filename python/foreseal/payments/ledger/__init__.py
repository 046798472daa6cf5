"""Durable state of payments: states, tables and transactions."""

from foreseal.payments.ledger.database import Database, ensure
from foreseal.payments.ledger.errors import (
    ConcurrentUpdate,
    Duplicate,
    LedgerError,
    NotAllowed,
    NotCovered,
    Unknown,
    WrongSchema,
)
from foreseal.payments.ledger.states import (
    EFFECTED,
    IN_FLIGHT,
    REVERSIBLE,
    DisbursementState,
    Finality,
    GrantState,
    OrderState,
    OrderStatus,
    PurchaseState,
    SettlementState,
    Step,
    Trigger,
    TxStatus,
)
from foreseal.payments.ledger.timeline import Entry, entries
from foreseal.payments.ledger.transitions import Ledger, locked, read

__all__ = [
    "EFFECTED",
    "IN_FLIGHT",
    "REVERSIBLE",
    "ConcurrentUpdate",
    "Database",
    "DisbursementState",
    "Duplicate",
    "Entry",
    "Finality",
    "GrantState",
    "Ledger",
    "LedgerError",
    "NotAllowed",
    "NotCovered",
    "OrderState",
    "OrderStatus",
    "PurchaseState",
    "SettlementState",
    "Step",
    "Trigger",
    "TxStatus",
    "Unknown",
    "WrongSchema",
    "ensure",
    "entries",
    "locked",
    "read",
]
