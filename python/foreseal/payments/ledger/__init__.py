"""Durable state of payments: states, tables and transactions."""

from foreseal.payments.ledger.database import Database, ensure, lock_names
from foreseal.payments.ledger.errors import (
    ConcurrentUpdate,
    DuplicateRecord,
    InsufficientAmount,
    LedgerError,
    PoolerRefused,
    TransitionNotAllowed,
    UnknownRecord,
    WrongSchema,
)
from foreseal.payments.ledger.observer import LedgerObserver
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
    StatusStep,
    Trigger,
    TxStatus,
)
from foreseal.payments.ledger.timeline import TimelineEntry, entries
from foreseal.payments.ledger.transitions import Ledger, locked, locked_all, read, read_all, unknown_record

__all__ = [
    "EFFECTED",
    "IN_FLIGHT",
    "REVERSIBLE",
    "ConcurrentUpdate",
    "Database",
    "DisbursementState",
    "DuplicateRecord",
    "Finality",
    "GrantState",
    "InsufficientAmount",
    "Ledger",
    "LedgerError",
    "LedgerObserver",
    "OrderState",
    "OrderStatus",
    "PoolerRefused",
    "PurchaseState",
    "SettlementState",
    "StatusStep",
    "TimelineEntry",
    "TransitionNotAllowed",
    "Trigger",
    "TxStatus",
    "UnknownRecord",
    "WrongSchema",
    "ensure",
    "entries",
    "lock_names",
    "locked",
    "locked_all",
    "read",
    "read_all",
    "unknown_record",
]
