"""Amounts of money: integers in a token's smallest unit inside, Decimal at the edge, never a float."""

from decimal import Decimal, InvalidOperation
from typing import Any

LARGEST = 2**256 - 1
"""Units that a token can count (uint256)."""
# Digits of an amount, of which a uint256 has 78.
_LONGEST = 400


def units(amount: Decimal | str | int, decimals: int = 6) -> int:
    """The smallest units of `amount`, which is in whole tokens.

    Raises TypeError for a float, and ValueError for what is no amount, is negative, is not finite, has more than
    `decimals` places or is larger than a uint256.
    """
    if isinstance(amount, bool) or not isinstance(amount, Decimal | str | int):
        raise TypeError(f"amount: {amount!r} is a {type(amount).__name__}: give a Decimal, a text or an int")
    try:
        exact = Decimal(amount)
    except InvalidOperation:
        raise ValueError(f"amount: {amount!r} is no number") from None
    if not exact.is_finite():
        raise ValueError(f"amount: {amount!r} is no number")
    if exact.is_signed() and exact:
        raise ValueError(f"amount: {amount} is negative")
    _, digits, exponent = exact.as_tuple()
    places = int(exponent) + decimals
    # An exponent of eight digits is a short text, and its power of ten a number that no memory has room for.
    if exact and (len(digits) > _LONGEST or places > _LONGEST):
        raise ValueError(f"amount: {str(exact)[:100]} is more than a token counts")
    if not exact:
        return 0
    number = int("".join(map(str, digits)))
    whole, rest = (number * 10**places, 0) if places >= 0 else divmod(number, 10 ** min(-places, _LONGEST))
    if rest:
        raise ValueError(f"amount: {amount} has more than {decimals} places")
    return checked(whole)


def checked(amount: Any, name: str = "amount") -> int:
    """An amount in smallest units. Raises TypeError if it is no int, ValueError outside of a uint256."""
    if isinstance(amount, bool) or not isinstance(amount, int):
        raise TypeError(f"{name}: {amount!r} is a {type(amount).__name__}: units are an int")
    if not 0 <= amount <= LARGEST:
        raise ValueError(f"{name}: {amount} is not between 0 and 2**256 - 1")
    return amount


def tokens(amount: int, decimals: int = 6) -> Decimal:
    """Whole tokens of so many smallest units, exact, with all `decimals` places."""
    digits = tuple(map(int, str(checked(amount))))
    return Decimal((0, digits, -decimals))
