"""Errors of a buyer that does not pay.

```text
BuyingError
├── PurchaseRejected  the policy rejects every offer of the seller; `refusals` has the rule and amounts of each
├── OutcomeUnknown    an earlier payment for the same request was sent, and its outcome is unknown
└── Unreadable        the seller's payment request is invalid
```
"""

from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """Rules of a policy, in the order of their checks."""

    HOST = "host"
    REDIRECT = "redirect"
    SCHEME = "scheme"
    NETWORK = "network"
    ASSET = "asset"
    PAYEE = "payee"
    AMOUNT = "amount"
    VALIDITY = "validity"
    PER_REQUEST = "per request"
    PER_DEPOSIT = "per deposit"
    PER_SESSION = "per session"
    PER_DAY = "per day"


@dataclass(frozen=True, slots=True)
class PolicyViolation:
    """A rule that rejected one offer or all offers."""

    rule: Rule
    reason: str
    """Explanation for people: the requested value and the allowed one."""
    requested: int | None = None
    """Requested amount in smallest units, if the rule is a cap."""
    committed: int | None = None
    """Smallest units already spent or reserved, if the rule is a cap of a session or a day."""
    cap: int | None = None
    """The cap in smallest units."""

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}"


class BuyingError(Exception):
    """Nothing was signed for this request, and nothing is owed for it."""


class PurchaseRejected(BuyingError):
    """The policy rejects every offer, each by the named rule. Nothing is reserved."""

    def __init__(self, refusals: tuple[PolicyViolation, ...]) -> None:
        super().__init__(refusals)
        self.refusals = refusals

    def __str__(self) -> str:
        return "; ".join(map(str, self.refusals))


class OutcomeUnknown(BuyingError):
    """An earlier payment for the same subject has an unknown outcome. Nothing is signed until the outcome is known."""

    def __init__(self, purchase: str, subject: str) -> None:
        super().__init__(purchase, subject)
        self.purchase = purchase
        """Id of the earlier purchase."""
        self.subject = subject
        """Subject of the payment: a request or a payment channel."""

    def __str__(self) -> str:
        return f"payment {self.purchase} for {self.subject} was presented and its outcome is unknown"


class Unreadable(BuyingError):
    """The header PAYMENT-REQUIRED does not conform to x402 v2."""
