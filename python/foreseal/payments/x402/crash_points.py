"""Where a seller's or a facilitator's process may end between what it means to do and what it did.

As `foreseal.payments.crash_points`, whose places in sending and of receipts are passed as well. docs/x402.md says
what is stored at each.
"""

from enum import StrEnum


class PaidPoint(StrEnum):
    """A place in the life of a paid request, in their order."""

    PAYMENT_VERIFIED = "payment verified, nothing stored"
    GRANT_STORED = "grant stored, handler not begun"
    HANDLER_ENDED = "handler ended, its answer not stored"
    ANSWER_STORED = "answer stored, not settled"
    SETTLEMENT_DECIDED = "settlement signed, not yet committed"
    SETTLEMENT_STORED = "settlement stored, not sent"
    PAYMENT_SETTLED = "settled, which the seller has not noted"
    GRANT_SETTLED = "settled and noted, not answered"
