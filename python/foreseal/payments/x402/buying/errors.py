"""Why nothing is paid.

BuyingError
├── PaymentRefused   the policy refuses each offer of the seller; `refusals` has the rule and the figures of each
├── OutcomeUnknown   a payment for the same request was presented, and what became of it is not known
└── Unreadable       the seller asks for payment in a way that cannot be understood
"""

from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """What a policy looks at, in this order."""

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
class Refusal:
    """One rule that refused one offer, or all of them."""

    rule: Rule
    reason: str
    """For people: what was asked for, and what is allowed."""
    asked: int | None = None
    """Smallest units, where the rule is a cap."""
    committed: int | None = None
    """Smallest units that are spent or reserved already, where the cap is one of a session or a day."""
    cap: int | None = None
    """Smallest units."""

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}"


class BuyingError(Exception):
    """Nothing was signed for this request, and nothing is owed for it."""


class PaymentRefused(BuyingError):
    """The policy refuses every offer: each with the rule that did. Nothing is reserved."""

    def __init__(self, refusals: tuple[Refusal, ...]) -> None:
        super().__init__(refusals)
        self.refusals = refusals

    def __str__(self) -> str:
        return "; ".join(map(str, self.refusals))


class OutcomeUnknown(BuyingError):
    """What became of an earlier payment for the same is not known: nothing is signed for it until it is."""

    def __init__(self, purchase: str, subject: str) -> None:
        super().__init__(purchase, subject)
        self.purchase = purchase
        """Its id."""
        self.subject = subject
        """What it was for: a request or a payment channel."""

    def __str__(self) -> str:
        return f"payment {self.purchase} for {self.subject} was presented, and its outcome is not known"


class Unreadable(BuyingError):
    """The header PAYMENT-REQUIRED is not what x402 v2 says."""
