"""Prices of requests: a table of routes, and the charge that a handler decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from re import Pattern

from starlette.routing import compile_path
from x402.schemas import PaymentRequirements

from foreseal.payments.amounts import check_amount
from foreseal.payments.x402.payment_key import BATCH, EXACT, UPTO, Payment


class Scheme(StrEnum):
    """Payment scheme of a request."""

    EXACT = EXACT
    """The price, by EIP-3009 or through Permit2."""
    UPTO = UPTO
    """The handler's charge up to the price, through Permit2."""
    BATCH = BATCH
    """The handler's charge up to the price, by a voucher on a payment channel."""


class TransferMethod(StrEnum):
    """Method by which the token is transferred."""

    EIP3009 = "eip3009"
    PERMIT2 = "permit2"


@dataclass(frozen=True, slots=True)
class Price:
    """One payment option for a request."""

    amount: int
    """Smallest units of the token; a maximum if the handler decides the charge."""
    scheme: Scheme = Scheme.EXACT
    transfer_method: TransferMethod = TransferMethod.EIP3009
    seconds: int = 60
    """Maximum validity of a payment in seconds."""

    def __post_init__(self) -> None:
        if check_amount(self.amount) == 0:
            raise ValueError("amount: a price must be positive")
        if not 10 <= self.seconds <= 86_400:
            raise ValueError(f"seconds: must be between 10 and 86400, got {self.seconds}")


@dataclass(slots=True)
class Charge:
    """The handler's view of a payment, as `request.state.payment`: payer and charge."""

    payment: Payment
    maximum: int
    """Maximum charge in smallest units."""
    fixed: bool
    """True if exactly this amount is charged (`exact`)."""
    amount: int = field(init=False)
    """Current charge in smallest units."""

    def __post_init__(self) -> None:
        self.amount = self.maximum

    @property
    def payer(self) -> str:
        """Account of the payer."""
        return self.payment.key.payer

    def charge(self, amount: int) -> None:
        """Set the charge in smallest units.

        Raises ValueError beyond the price, or if it differs from a fixed amount.
        """
        if check_amount(amount) > self.maximum:
            raise ValueError(f"amount: {amount} exceeds the payer's maximum of {self.maximum}")
        if self.fixed and amount != self.maximum:
            raise ValueError(f"amount: the scheme exact charges exactly {self.maximum}")
        self.amount = amount


class PriceTable:
    """Prices by route: `GET /reports/{name}`, with parameters in Starlette's syntax. The first match applies."""

    def __init__(self, prices: Mapping[str, Price | Sequence[Price]]) -> None:
        """Build the table. Raises ValueError for an invalid route, or one without a price."""
        self._routes: list[tuple[str, Pattern[str], tuple[Price, ...]]] = []
        for route, options in prices.items():
            method, _, path = route.partition(" ")
            if not method.isalpha() or method != method.upper() or not path.startswith("/"):
                raise ValueError(f"prices: {route!r} is not a route such as 'GET /reports/{{name}}'")
            route_prices = (options,) if isinstance(options, Price) else tuple(options)
            if not route_prices:
                raise ValueError(f"prices: {route!r} has no price")
            self._routes.append((method, compile_path(path)[0], route_prices))

    def all(self) -> list[Price]:
        """Return every price."""
        return [price for _, _, prices in self._routes for price in prices]

    def find(self, method: str, path: str) -> tuple[Price, ...]:
        """Return a request's payment options; empty if it is free.

        HEAD costs as much as GET: it runs the same handler.
        """
        priced_method = "GET" if method == "HEAD" else method
        return next((prices for verb, form, prices in self._routes if verb == priced_method and form.match(path)), ())


def chargeable(payment: Payment, requirements: PaymentRequirements) -> Charge:
    """Return the charge object that a handler gets for a verified payment."""
    return Charge(payment, int(requirements.amount), fixed=requirements.scheme == Scheme.EXACT)
