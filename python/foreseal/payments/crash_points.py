"""Points between intent and effect at which a process may crash.

The code reports each point as it passes it. In production nothing listens. A test kills the process at a point and
checks that a restart loses or doubles nothing. docs/merchants/payments.md lists the stored data at each point.
"""

from collections.abc import Callable
from enum import StrEnum


class CrashPoint(StrEnum):
    """A point between intent and effect, in the order of a payment's lifetime."""

    CAPTURE_CHECKED = "capture checked, nothing stored"
    CAPTURE_DECIDED = "capture decided and signed, not yet committed"
    CAPTURE_STORED = "capture stored, not sent"
    CANCEL_DECIDED = "cancellation decided and signed, not yet committed"
    CANCEL_STORED = "cancellation stored, not sent"
    VOID_DECIDED = "void decided, not yet committed"
    TRANSACTION_SENT = "transaction submitted, response not recorded"
    TRANSACTION_NOTED = "response of the node recorded"
    REPLACEMENT_DECIDED = "replacement with higher fees signed, not yet committed"
    REPLACEMENT_STORED = "replacement with higher fees stored, not sent"
    EMPTY_TRANSFER_DECIDED = "empty transfer for a rejected transaction signed, not yet committed"
    EMPTY_TRANSFER_STORED = "empty transfer for a rejected transaction stored, not sent"
    RECEIPT_READ = "receipt read, nothing stored"
    RECEIPT_APPLIED = "receipt applied, not yet committed"
    RECEIPT_STORED = "receipt stored"
    EXPIRY_DECIDED = "expiry decided, not yet committed"
    REFUND_RESERVED = "refund reserved, nothing signed"
    REFUND_DECIDED = "refund signed, not yet committed"
    REFUND_STORED = "refund stored, not sent"
    PAYOUT_DECIDED = "payout signed, not yet committed"
    PAYOUT_STORED = "payout stored, not sent"
    WINDOW_READ = "logs of a window read, nothing stored"
    WINDOW_REPLACED = "rows of a window and the cursor replaced, not yet committed"
    WINDOW_STORED = "rows of a window and the cursor stored"


OnCrashPoint = Callable[[StrEnum], None]
"""Callback for each point that is passed. An exception from it ends the operation there, as a crash would."""


def ignore_crash_point(_: StrEnum) -> None:
    """Ignore the point."""
