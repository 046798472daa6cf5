"""Prices of requests: a table of routes, and the charge that a handler decides."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from starlette.types import Scope
from x402.schemas import PaymentRequirements

from foreseal.payments.amounts import check_amount
from foreseal.payments.x402.payment_key import BATCH, EXACT, UPTO, Payment
from foreseal.payments.x402.seller.denomination import Denomination
from foreseal.payments.x402.seller.route_paths import Reading, RoutePath, UnclearPath, readings


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

    amount: int | str
    """Smallest units of the token, or text such as `"$0.01"` or `"0.01 USDC"`.

    A maximum if the handler decides the charge.
    """
    scheme: Scheme = Scheme.EXACT
    transfer_method: TransferMethod = TransferMethod.EIP3009
    seconds: int = 60
    """Maximum validity of a payment in seconds."""

    def __post_init__(self) -> None:
        if not isinstance(self.amount, str) and check_amount(self.amount) == 0:
            raise ValueError("amount: a price must be positive")
        if not 10 <= self.seconds <= 86_400:
            raise ValueError(f"seconds: must be between 10 and 86400, got {self.seconds}")

    @property
    def units(self) -> int:
        """Amount in smallest units. Raises TypeError for a price in text, which `in_units` converts."""
        return check_amount(self.amount)

    def in_units(self, denomination: Denomination | None, name: str = "amount") -> "Price":
        """Return the price in smallest units of the token.

        Raises ValueError with the argument's name for invalid text, and for text without a denomination.
        """
        if not isinstance(self.amount, str):
            return self
        if denomination is None:
            reason = "requires the token's symbol and decimals: set SellerSettings.denomination"
            raise ValueError(f"{name}: {self.amount[:100]!r} {reason}")
        amount = denomination.units(self.amount, name)
        if amount == 0:
            raise ValueError(f"{name}: {self.amount[:100]!r} is zero; a price must be positive")
        return replace(self, amount=amount)


PriceLike = Price | str
"""A price, or its amount in text."""


def as_prices(
    options: PriceLike | Sequence[PriceLike], denomination: Denomination | None, name: str
) -> tuple[Price, ...]:
    """Return payment options in smallest units. Raises ValueError or TypeError with the argument's name."""
    listed = (options,) if isinstance(options, Price | str) else options
    if not isinstance(listed, Sequence):
        raise TypeError(f"{name}: {options!r} must be text such as '$0.01', a Price, or a sequence of them")
    prices = []
    for option in listed:
        if not isinstance(option, Price | str):
            raise TypeError(f"{name}: {option!r} must be text such as '$0.01' or a Price")
        prices.append((Price(option) if isinstance(option, str) else option).in_units(denomination, name))
    return tuple(prices)


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
    """Prices by route: `GET /reports/{name}`, or `* /reports/{name}` for every method. The first match applies."""

    def __init__(
        self, prices: Mapping[str, PriceLike | Sequence[PriceLike]], denomination: Denomination | None = None
    ) -> None:
        """Build the table. Raises ValueError for an invalid route, an invalid price, or a route without a price."""
        self._routes: list[tuple[str, RoutePath, tuple[Price, ...]]] = []
        for route, options in prices.items():
            method, _, path = route.partition(" ")
            if method != "*" and (not method.isalpha() or method != method.upper()):
                raise ValueError(f"prices: {route!r} is not a route such as 'GET /reports/{{name}}'")
            try:
                route_path = RoutePath(path)
            except ValueError as error:
                raise ValueError(f"prices: the path of {route!r} {error}") from None
            route_prices = as_prices(options, denomination, f"prices[{route!r}]")
            if not route_prices:
                raise ValueError(f"prices: {route!r} has no price")
            self._routes.append((method, route_path, route_prices))

    def all(self) -> list[Price]:
        """Return every price."""
        return [price for _, _, prices in self._routes for price in prices]

    def find(self, scope: Scope) -> tuple[Price, ...]:
        """Return the payment options of a request or a WebSocket; empty if it is free.

        HEAD costs as much as GET, because it runs the same handler. A WebSocket has the price of any method. Raises
        `UnclearPath` for a path that routers may read in ways that have different prices.
        """
        if not self._routes:
            return ()
        method = scope["method"].upper() if scope["type"] == "http" else None
        methods = {"*", "GET" if method == "HEAD" else method}
        routes = [(path, prices) for verb, path, prices in self._routes if method is None or verb in methods]
        for group in readings(scope):
            matches = (RoutePath.matches_as_written, RoutePath.matches_normalized)
            options = {_first(routes, match, reading) for match in matches for reading in group} - {()}
            options = options or {_first(routes, RoutePath.matches_with_empty, reading) for reading in group} - {()}
            if len(options) > 1:
                raise UnclearPath("path: has another price in another spelling")
            if options:
                return options.pop()
        return ()


def _first(
    routes: Sequence[tuple[RoutePath, tuple[Price, ...]]], matches: Callable[[RoutePath, Reading], bool], path: Reading
) -> tuple[Price, ...]:
    return next((prices for route, prices in routes if matches(route, path)), ())


def chargeable(payment: Payment, requirements: PaymentRequirements) -> Charge:
    """Return the charge object that a handler gets for a verified payment."""
    return Charge(payment, int(requirements.amount), fixed=requirements.scheme == Scheme.EXACT)
