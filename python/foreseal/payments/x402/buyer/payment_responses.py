"""Evidence about a payment in the response to a paid request."""

import re
from collections.abc import Callable

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError
from x402.http.utils import decode_payment_required_header, decode_payment_response_header
from x402.schemas import PaymentRequired, SettleResponse

from foreseal.payments.ledger import Trigger
from foreseal.payments.x402.buyer.errors import Unreadable
from foreseal.payments.x402.buyer.purchases import PurchaseOutcome
from foreseal.payments.x402.buyer.spending_policy import AMOUNT
from foreseal.payments.x402.payloads import HASH
from foreseal.payments.x402.payment_status import PaymentFate

REQUIRED = "PAYMENT-REQUIRED"
RESPONSE = "PAYMENT-RESPONSE"
PAYMENT_REQUIRED = 402
"""HTTP status of an unpaid request."""
SMALL = 1 << 16
"""Maximum bytes to read of a 402 response so that its connection can be reused."""
# @x402/express responds with 412 if Permit2 has no allowance.
_REFUSALS = (PAYMENT_REQUIRED, 412)

ResponseHeaders = Callable[[str], str | None]
"""Function that returns a response header by its case-insensitive name."""

# Maximum characters of one header, more than any real list of offers needs.
_LONGEST = 1 << 17
# Python's decoder skips characters outside of base64. For a repeated header it would decode the first value.
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


class _StatusReport(BaseModel):
    """Fields of `PaymentStatus.as_json` that decide an outcome."""

    # Some sellers report amounts as numbers.
    model_config = ConfigDict(coerce_numbers_to_str=True)

    status: str | None = None
    never_settled: StrictBool = Field(default=False, alias="neverSettled")
    transaction: str | None = None
    amount: str | None = None


def read_required(header: str) -> PaymentRequired:
    """Return the seller's demand. Raises `Unreadable`."""
    if len(header) > _LONGEST:
        raise Unreadable(f"{REQUIRED} has {len(header)} characters, the maximum is {_LONGEST}")
    if not _BASE64.fullmatch(header):
        raise Unreadable(f"{REQUIRED} must occur once and be base64")
    try:
        demand = decode_payment_required_header(header)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:  # errors in base64, JSON or its content
        raise Unreadable(f"{REQUIRED} is not valid x402: {error}") from error
    if not isinstance(demand, PaymentRequired) or demand.x402_version != 2:
        raise Unreadable(f"{REQUIRED} has x402 version {demand.x402_version}, expected 2")
    return demand


def read_settlement(header: str | None) -> SettleResponse | None:
    """Return the seller's settlement report; None if it is missing or invalid."""
    if not header or len(header) > _LONGEST or not _BASE64.fullmatch(header):
        return None
    try:
        return decode_payment_response_header(header)
    except (ValueError, TypeError, RecursionError):  # an invalid report must not withhold the application's response
        return None


def read_outcome(amount: int, varies: bool, status: int, get_header: ResponseHeaders) -> PurchaseOutcome | None:
    """Return the outcome of a payment of `amount` units, or None if it is unknown.

    If the price `varies`, `amount` is a maximum. A rejection without a settlement report happened before any settlement
    attempt. After a failed attempt the payment may still be settled: a facilitator that timed out may have sent its
    transaction.
    """
    header = get_header(RESPONSE)
    if header is None:
        refused = status in _REFUSALS and get_header(REQUIRED) is not None
        return PurchaseOutcome(Trigger.REFUSED) if refused else None
    settlement = read_settlement(header)
    if settlement is None or not settlement.success:
        return None
    settled = amount
    if varies and AMOUNT.fullmatch(settlement.amount or ""):
        settled = min(amount, int(settlement.amount or ""))
    transaction = settlement.transaction.lower() if HASH.fullmatch(settlement.transaction) else None
    return PurchaseOutcome(Trigger.PAID, settled, transaction)


def read_status(body: bytes, amount: int) -> PurchaseOutcome | None:
    """Return the outcome from a status of a seller or facilitator, for at most `amount` units. None if unknown.

    The format is that of `PaymentStatus.as_json`.
    """
    try:
        report = _StatusReport.model_validate_json(body)
    except ValidationError:
        return None
    if report.never_settled:
        return PurchaseOutcome(Trigger.REFUSED)
    if report.status != PaymentFate.SETTLED:
        return None
    transaction, units = report.transaction or "", report.amount or ""
    settled = int(units) if AMOUNT.fullmatch(units) else amount
    return PurchaseOutcome(
        Trigger.PAID, min(settled, amount), transaction.lower() if HASH.fullmatch(transaction) else None
    )
