"""Amounts of money are integers, and a float is never accepted as money."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreseal.payments.amounts import MAX_AMOUNT, check_amount, to_tokens, to_units

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
