"""Amounts of money: integers in a token's smallest unit internally, Decimal at the edge, never a float."""

from decimal import Decimal, InvalidOperation

MAX_AMOUNT = 2**256 - 1
"""Largest amount of a token in smallest units (uint256)."""
MIN_SHOWN_PLACES = 2
"""Decimal places of an amount shown to people, if its token has as many."""
# Limit on the digits of an amount. A uint256 has at most 78.
_LONGEST = 400


def to_units(amount: Decimal | str | int, decimals: int = 6) -> int:
    """Convert `amount` in whole tokens to smallest units.

    Raises TypeError for a float. Raises ValueError for an amount that is not a number, is negative or not finite, has
    more than `decimals` places, or exceeds a uint256.
    """
    if isinstance(amount, bool) or not isinstance(amount, Decimal | str | int):
        raise TypeError(f"amount: {amount!r} must be a Decimal, a string or an int, got {type(amount).__name__}")
    try:
        exact = Decimal(amount)
    except InvalidOperation:
        raise ValueError(f"amount: {amount!r} is not a number") from None
    if not exact.is_finite():
        raise ValueError(f"amount: {amount!r} is not a number")
    if exact.is_signed() and exact:
        raise ValueError(f"amount: {amount} is negative")
    _, digits, exponent = exact.as_tuple()
    scale = int(exponent) + decimals
    # A short text such as 1e99999999 would need a power of ten that exhausts memory.
    if exact and (len(digits) > _LONGEST or scale > _LONGEST):
        raise ValueError(f"amount: {str(exact)[:100]} exceeds 2**256 - 1 units")
    if not exact:
        return 0
    number = int("".join(map(str, digits)))
    units, rest = (number * 10**scale, 0) if scale >= 0 else divmod(number, 10 ** min(-scale, _LONGEST))
    if rest:
        raise ValueError(f"amount: {amount} has more than {decimals} decimal places")
    return check_amount(units)


def check_amount(amount: object, name: str = "amount") -> int:
    """Return `amount` in smallest units. Raises TypeError unless it is an int, ValueError outside of a uint256."""
    if isinstance(amount, bool) or not isinstance(amount, int):
        raise TypeError(f"{name}: {amount!r} must be an int, got {type(amount).__name__}")
    if not 0 <= amount <= MAX_AMOUNT:
        raise ValueError(f"{name}: {amount} must be between 0 and 2**256 - 1")
    return amount


def to_tokens(amount: int, decimals: int = 6) -> Decimal:
    """Convert `amount` in smallest units to whole tokens, exact, with all `decimals` places."""
    digits = tuple(map(int, str(check_amount(amount))))
    return Decimal((0, digits, -decimals))


def format_tokens(amount: int, decimals: int = 6) -> str:
    """Return `amount` in smallest units as exact text for people: whole tokens with two decimal places, or more.

    A place beyond the second is shown only if it is needed: `format_tokens(12_500_000)` is `12.50`. Text of a token
    with fewer than two decimals has all of them.
    """
    whole, _, places = f"{to_tokens(amount, decimals):f}".partition(".")
    shown = places.rstrip("0").ljust(min(MIN_SHOWN_PLACES, decimals), "0")
    return f"{whole}.{shown}" if shown else whole
