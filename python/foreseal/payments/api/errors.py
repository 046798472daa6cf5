"""Error responses of the service: one format, from one table.

```json
{"error": {"code": "not_capturable", "message": "for people", "argument": null, "reason": "token_paused"}}
```

`argument` names the field, parameter or header at fault, or is null. `reason` is the obstacle to a capture, or null.
"""

import math
from dataclasses import dataclass

from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from foreseal.payments.api.responses import Error
from foreseal.payments.chain import (
    ChainError,
    ChainReorganized,
    CodeTimeout,
    NoResponse,
    RejectedByNode,
    Reverted,
    TooManyCalls,
)
from foreseal.payments.destinations.errors import DestinationNotConfigured
from foreseal.payments.disbursements.disbursements import RecipientForbidden
from foreseal.payments.disbursements.payouts import NotFunded
from foreseal.payments.disbursements.refunds import NotRefundable
from foreseal.payments.ledger import (
    ConcurrentUpdate,
    DuplicateRecord,
    InsufficientAmount,
    TransitionNotAllowed,
    UnknownRecord,
)
from foreseal.payments.orders.cancellations import NotCancelable
from foreseal.payments.orders.capture_checks import NotCapturable
from foreseal.payments.orders.payers import PayerMismatch, PayerRequired
from foreseal.payments.signatures import InvalidSignature
from foreseal.payments.transactions import (
    FeeTooHigh,
    GasBudgetInUse,
    GasBudgetSpent,
    GasTooHigh,
    SendingError,
    SignerUnavailable,
    TransactionStillOpen,
    TransactionTooLarge,
)


class ApiError(Exception):
    """An error response."""

    def __init__(self, status: int, code: str, message: str, argument: str | None = None, **headers: str) -> None:
        super().__init__(status, code, message, argument)
        self.status = status
        self.code = code
        self.message = message
        self.argument = argument
        self.reason: str | None = None
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def body(self) -> Error:
        """Return the JSON body."""
        return {"error": {"code": self.code, "message": self.message, "argument": self.argument, "reason": self.reason}}

    @property
    def passing(self) -> bool:
        """True if the same request may succeed later, so that its response is not stored."""
        return self.status >= 500


class UnstoredError(ApiError):
    """An error response that is never stored, so that a request with an invented key leaves nothing behind."""

    @property
    def passing(self) -> bool:
        """Return True."""
        return True

    @classmethod
    def from_error(cls, error: ApiError) -> "UnstoredError":
        """Return an error response with the same content."""
        unstored = cls(error.status, error.code, error.message, error.argument)
        unstored.reason, unstored.headers = error.reason, error.headers
        return unstored


@dataclass(frozen=True, slots=True)
class _Meaning:
    kind: type[Exception]
    status: int
    code: str
    argument: str | None = None


# The first match applies.
_MEANINGS = (
    _Meaning(UnknownRecord, 404, "not_found", "id"),
    _Meaning(DuplicateRecord, 409, "duplicate", "id"),
    _Meaning(TransitionNotAllowed, 409, "not_allowed"),
    _Meaning(ConcurrentUpdate, 503, "concurrent_update"),
    _Meaning(PayerRequired, 400, "missing_field", "payer"),
    _Meaning(PayerMismatch, 409, "payer_mismatch", "payer"),
    _Meaning(DestinationNotConfigured, 409, "destination_not_configured"),
    _Meaning(NotRefundable, 409, "not_refundable"),
    _Meaning(InsufficientAmount, 409, "not_covered", "amount"),
    _Meaning(RecipientForbidden, 409, "account_forbidden"),
    _Meaning(NotFunded, 409, "not_funded"),
    _Meaning(NotCapturable, 409, "not_capturable"),
    _Meaning(NotCancelable, 409, "not_cancelable"),
    _Meaning(InvalidSignature, 422, "invalid_signature", "signature"),
    _Meaning(TransactionStillOpen, 409, "still_open"),
    _Meaning(FeeTooHigh, 503, "fee_too_high"),
    _Meaning(GasTooHigh, 409, "gas_too_high"),
    _Meaning(GasBudgetSpent, 409, "gas_budget_spent"),
    _Meaning(GasBudgetInUse, 503, "gas_budget_in_use"),
    _Meaning(TransactionTooLarge, 409, "transaction_too_large"),
    _Meaning(SignerUnavailable, 503, "signer_unavailable"),
    _Meaning(SendingError, 503, "transaction_not_sent"),
    _Meaning(Reverted, 409, "would_revert"),
    _Meaning(ChainReorganized, 503, "chain_reorganized"),
    _Meaning(CodeTimeout, 422, "code_timeout"),
    _Meaning(TooManyCalls, 503, "overloaded"),
    _Meaning(NoResponse, 503, "node_unreachable"),
    _Meaning(RejectedByNode, 502, "node_rejected"),
    _Meaning(ChainError, 502, "node_error"),
    _Meaning(OperationalError, 503, "database_unavailable"),
    _Meaning(PoolTimeout, 503, "database_unavailable"),
)
LIBRARY_ERRORS = tuple(meaning.kind for meaning in _MEANINGS)
"""Library exceptions that `to_api_error` handles."""
CODES = tuple(sorted({meaning.code for meaning in _MEANINGS}))


def to_api_error(error: Exception) -> ApiError:
    """Return the response for a library exception."""
    meaning = next(meaning for meaning in _MEANINGS if isinstance(error, meaning.kind))
    # A database's own message may contain its URL and the statement.
    message = "the database does not respond" if meaning.code == "database_unavailable" else str(error)
    api_error = ApiError(meaning.status, meaning.code, message, meaning.argument)
    if isinstance(error, NoResponse | GasBudgetInUse):
        api_error.headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    if isinstance(error, NotCapturable):
        api_error.reason = error.obstacle.value
    return api_error
