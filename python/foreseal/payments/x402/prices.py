"""What requests cost: a table of routes, and what a handler may charge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from re import Pattern

from starlette.routing import compile_path
from x402.schemas import PaymentRequirements

from foreseal.payments.amounts import checked
from foreseal.payments.x402.identities import BATCH, EXACT, UPTO, Payment


class Scheme(StrEnum):
    """How a request is paid."""

    EXACT = EXACT
    """The price, by EIP-3009 or over Permit2."""
    UPTO = UPTO
    """What the handler charges, the price at most; over Permit2."""
    BATCH = BATCH
    """What the handler charges, the price at most, by a voucher on a payment channel."""


class Way(StrEnum):
    """How the token moves."""

    EIP3009 = "eip3009"
    PERMIT2 = "permit2"


@dataclass(frozen=True, slots=True)
class Price:
    """One way to pay for a request."""

    amount: int
    """Smallest units of the token; the most, where the handler says how much."""
    scheme: Scheme = Scheme.EXACT
    way: Way = Way.EIP3009
    seconds: int = 60
    """How long a payment may be valid."""

    def __post_init__(self) -> None:
        if checked(self.amount) == 0:
            raise ValueError("amount: a price is more than nothing")
        if not 10 <= self.seconds <= 86_400:
            raise ValueError(f"seconds: {self.seconds} is not between 10 and 86400")


@dataclass(slots=True)
class Charge:
    """What the handler sees of a payment, as `request.state.payment`: who pays, and how much it will be."""

    payment: Payment
    most: int
    """Smallest units that may be charged."""
    fixed: bool
    """Whether it is this amount and no other (`exact`)."""
    amount: int = field(init=False)
    """Smallest units that are charged as things are."""

    def __post_init__(self) -> None:
        self.amount = self.most

    @property
    def payer(self) -> str:
        """The account that pays."""
        return self.payment.key.payer

    def charge(self, amount: int) -> None:
        """Charge so many smallest units. Raises ValueError beyond the price, or for another amount than a fixed one."""
        if checked(amount) > self.most:
            raise ValueError(f"amount: {amount} is more than the payer allowed, {self.most}")
        if self.fixed and amount != self.most:
            raise ValueError(f"amount: the scheme exact charges {self.most} and nothing else")
        self.amount = amount


class PriceTable:
    """Prices by route: `GET /reports/{name}`, with parameters as Starlette writes them. The first that fits counts."""

    def __init__(self, prices: Mapping[str, Price | Sequence[Price]]) -> None:
        """Raises ValueError for a route that is none, or without a price."""
        self._routes: list[tuple[str, Pattern[str], tuple[Price, ...]]] = []
        for route, given in prices.items():
            method, _, path = route.partition(" ")
            if not method.isalpha() or method != method.upper() or not path.startswith("/"):
                raise ValueError(f"prices: {route!r} is no route, such as 'GET /reports/{{name}}'")
            each = (given,) if isinstance(given, Price) else tuple(given)
            if not each:
                raise ValueError(f"prices: {route!r} has no price")
            self._routes.append((method, compile_path(path)[0], each))

    def all(self) -> list[Price]:
        """Every price."""
        return [price for _, _, prices in self._routes for price in prices]

    def of(self, method: str, path: str) -> tuple[Price, ...]:
        """The ways to pay for a request; none if it is free. HEAD costs what GET does, as it runs the same handler."""
        asked = "GET" if method == "HEAD" else method
        return next((each for verb, form, each in self._routes if verb == asked and form.match(path)), ())


def chargeable(payment: Payment, requirements: PaymentRequirements) -> Charge:
    """What a handler may do with a verified payment."""
    return Charge(payment, int(requirements.amount), fixed=requirements.scheme == Scheme.EXACT)
