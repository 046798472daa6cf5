"""Amounts of money are integers, and a float is never accepted as money."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreseal.payments.amounts import MAX_AMOUNT, check_amount, format_tokens, to_tokens, to_units

places = st.integers(0, 30)


@given(amount=st.integers(0, MAX_AMOUNT), decimals=places)
def test_units_and_decimals_convert_exactly(amount: int, decimals: int) -> None:
    whole = to_tokens(amount, decimals)
    assert Fraction(whole) == Fraction(amount, 10**decimals)
    assert to_units(whole, decimals) == amount
    assert to_units(str(whole), decimals) == amount


@given(amount=st.decimals(min_value=0, allow_nan=False, allow_infinity=False), decimals=places)
def test_amount_without_exact_units_is_rejected(amount: Decimal, decimals: int) -> None:
    exact = Fraction(amount) * 10**decimals
    if exact.denominator == 1 and exact <= MAX_AMOUNT:
        assert to_units(amount, decimals) == exact
    else:
        with pytest.raises(ValueError, match=r"^amount: "):
            to_units(amount, decimals)


@pytest.mark.parametrize("amount", [1.5, True, None, b"1", Fraction(1)])
def test_other_number_types_are_rejected(amount: object) -> None:
    with pytest.raises(TypeError, match=r"^amount: "):
        to_units(amount)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "amount", ["", "one", "NaN", "Infinity", "-1", "0.0000001", "1e80", "1e99999999", "1e-99999999", "1" * 5000]
)
def test_invalid_amount_text_is_named(amount: str) -> None:
    with pytest.raises(ValueError, match=r"^amount: "):
        to_units(amount)


def test_documented_amounts_convert() -> None:
    assert to_units("12.34") == 12_340_000
    assert to_units("-0") == 0
    assert to_units(3) == 3_000_000
    assert str(to_tokens(10_000)) == "0.010000"
    assert to_units("1e3") == 1_000_000_000
    assert to_units("0e-99999999") == to_units("0e99999999") == 0


@pytest.mark.parametrize(
    ("amount", "error"), [(1.0, TypeError), (True, TypeError), (-1, ValueError), (2**256, ValueError)]
)
def test_invalid_units_are_rejected(amount: object, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^fee: "):
        check_amount(amount, "fee")


@pytest.mark.parametrize(
    ("amount", "decimals", "text"),
    [
        (12_500_000, 6, "12.50"),
        (12_340_001, 6, "12.340001"),
        (0, 6, "0.00"),
        (1, 6, "0.000001"),
        (3 * 10**18, 18, "3.00"),
        (10**18 + 1, 18, "1.000000000000000001"),
        (15, 1, "1.5"),
        (700, 0, "700"),
        (MAX_AMOUNT, 0, str(MAX_AMOUNT)),
    ],
)
def test_shown_amount_has_two_places_or_all_that_count(amount: int, decimals: int, text: str) -> None:
    assert format_tokens(amount, decimals) == text


@given(amount=st.integers(0, MAX_AMOUNT), decimals=places)
def test_shown_amount_is_never_rounded(amount: int, decimals: int) -> None:
    assert to_units(format_tokens(amount, decimals), decimals) == amount
