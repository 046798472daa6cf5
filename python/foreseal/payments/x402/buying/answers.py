"""What the answer to a paid request says of its payment."""

import re
from collections.abc import Callable

import orjson
from x402.http.utils import decode_payment_required_header, decode_payment_response_header
from x402.schemas import PaymentRequired, SettleResponse

from foreseal.payments.ledger import Trigger
from foreseal.payments.x402.buying.errors import Unreadable
from foreseal.payments.x402.buying.policy import AMOUNT, Word
from foreseal.payments.x402.buying.purchases import Outcome
from foreseal.payments.x402.wire import HASH

REQUIRED = "PAYMENT-REQUIRED"
RESPONSE = "PAYMENT-RESPONSE"
PAYMENT_REQUIRED = 402
"""The status."""
SMALL = 1 << 16
"""Bytes of a 402 that are read so that its connection can be used again."""
# @x402/express answers 412 where Permit2 has no allowance.
_REFUSALS = (PAYMENT_REQUIRED, 412)

Headers = Callable[[str], str | None]
"""Gives a header of an answer by its name, whatever its case."""

# Of one header, in characters: more than any seller has offers for.
_LONGEST = 1 << 17
# Python reads past what is no base64: of a header that is there twice it would take the first.
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


def read_required(header: str) -> PaymentRequired:
    """What a seller asks for. Raises `Unreadable`."""
    if len(header) > _LONGEST:
        raise Unreadable(f"{REQUIRED} has {len(header)} characters, at most {_LONGEST} are read")
    if not _BASE64.fullmatch(header):
        raise Unreadable(f"{REQUIRED} is no base64, or is there twice")
    try:
        found = decode_payment_required_header(header)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:  # base64, JSON, and what is in it
        raise Unreadable(f"{REQUIRED} is not what x402 says: {error}") from error
    if not isinstance(found, PaymentRequired) or found.x402_version != 2:
        raise Unreadable(f"{REQUIRED} is of x402 version {found.x402_version}; 2 is understood")
    return found


def read_settlement(header: str | None) -> SettleResponse | None:
    """What a seller says of the settlement; None where it says nothing, or nothing that can be understood."""
    if not header or len(header) > _LONGEST or not _BASE64.fullmatch(header):
        return None
    try:
        return decode_payment_response_header(header)
    except (ValueError, TypeError, RecursionError):  # the answer is the application's whatever is said of the payment
        return None


def read_outcome(amount: int, varies: bool, status: int, get_header: Headers, word: Word) -> Outcome | None:
    """What became of a payment of `amount` units, or of up to so many where it `varies`; None is not known.

    A refusal that says nothing of a settlement came before one was tried. Where one was tried and failed, it
    may still land: a facilitator that ran out of time has sent its transaction already.
    """
    told = get_header(RESPONSE)
    if told is None:
        refused = status in _REFUSALS and get_header(REQUIRED) is not None
        return Outcome(Trigger.REFUSED) if refused and word is Word.SELLER else None
    settlement = read_settlement(told)
    if settlement is None or not settlement.success:
        return None
    settled = amount
    if varies and word is Word.SELLER and AMOUNT.fullmatch(settlement.amount or ""):
        settled = min(amount, int(settlement.amount or ""))
    transaction = settlement.transaction.lower() if HASH.fullmatch(settlement.transaction) else None
    return Outcome(Trigger.PAID, settled, transaction)


def read_status(body: bytes, amount: int) -> Outcome | None:
    """What a seller's or a facilitator's status says of a payment of at most `amount` units; None is not known yet.

    The form is that of `Status.as_json`.
    """
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(told, dict):
        return None
    if told.get("neverSettled") is True:
        return Outcome(Trigger.REFUSED)
    if told.get("status") != "settled":
        return None
    transaction, units = str(told.get("transaction")), str(told.get("amount"))
    settled = int(units) if AMOUNT.fullmatch(units) else amount
    return Outcome(Trigger.PAID, min(settled, amount), transaction.lower() if HASH.fullmatch(transaction) else None)
