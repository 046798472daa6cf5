"""Points between intent and effect at which a seller's or facilitator's process may crash.

The points for sending and receipts in `foreseal.payments.crash_points` apply as well.
docs/merchants/x402.md lists the stored data at each point.
"""

from enum import StrEnum


class PaidPoint(StrEnum):
    """A point in the lifetime of a paid request, in order."""

    PAYMENT_VERIFIED = "payment verified, nothing stored"
    GRANT_STORED = "grant stored, handler not started"
    HANDLER_ENDED = "handler ended, response not stored"
    ANSWER_STORED = "response stored, not settled"
    SETTLEMENT_DECIDED = "settlement signed, not yet committed"
    SETTLEMENT_STORED = "settlement stored, not sent"
    PAYMENT_SETTLED = "settled, not recorded by the seller"
    GRANT_SETTLED = "settled and recorded, no response sent"
