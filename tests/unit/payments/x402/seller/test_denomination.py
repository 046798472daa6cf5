"""Prices in text become exact units of the token; every other text is an error with the valid forms."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreseal.payments.typed_data import Domain
from foreseal.payments.x402.seller.denomination import Denomination, default_denomination
from foreseal.payments.x402.seller.payment_requirements import SellerSettings
from foreseal.payments.x402.seller.prices import Price, PriceTable, Scheme

PAYEE = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
USDC = Denomination(symbol="USDC", decimals=6, dollar=True)
EURC = Denomination(symbol="EURC", decimals=6)
BASE_SEPOLIA = Domain("USDC", "2", 84532, "0x036CbD53842c5426634e7929541eC2318f3dCF7e")
NOT_PRICES = [
    *("", "0.01", "1000", "$", "$-1", "-$1", "$+1", "$1e3", "$1,000.00", "$.5", "$1.", " $1", "$1 ", "$1\n", "$NaN"),
    *("1USDC", "1  USDC", "€1", "0x10 USDC", "1_000 USDC", "Infinity USDC", "$1 USDC"),
    "$\N{ARABIC-INDIC DIGIT ONE}",
]
UNLISTED = Domain("USDC", "2", 84532, "0x00000000000000000000000000000000000000aa")


def amount(text: str, denomination: Denomination = USDC) -> int:
    [price] = PriceTable({"GET /x": text}, denomination).all()
    return price.units


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("$0.01", 10_000),
        ("$ 0.01", 10_000),
        ("0.01 USDC", 10_000),
        ("$0.000001", 1),
        ("1 USDC", 1_000_000),
        ("$0.010000000", 10_000),
        ("$9007199254.740993", 9_007_199_254_740_993),  # beyond the precision of a float
    ],
)
def test_price_in_text_is_exact(text: str, units: int) -> None:
    assert amount(text) == units


@given(units=st.integers(1, 2**256 - 1), decimals=st.integers(0, 77))
def test_text_of_any_amount_is_exact(units: int, decimals: int) -> None:
    denomination = Denomination(symbol="T", decimals=decimals)
    text = f"{Decimal((0, tuple(map(int, str(units))), -decimals)):f} T"
    assert amount(text, denomination) == units


@pytest.mark.parametrize("text", NOT_PRICES)
def test_other_text_is_an_error_with_the_valid_forms(text: str) -> None:
    with pytest.raises(ValueError, match=r"^prices\['GET /x'\]: .*'\$0\.01', '0\.01 USDC', or an int") as raised:
        amount(text)
    assert repr(text) in str(raised.value)


def test_more_decimal_places_than_the_token_has_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"^prices\['GET /x'\]: 0\.0000001 has more than 6 decimal places; USDC has 6"):
        amount("$0.0000001")
    assert amount("0.0000001 T", Denomination(symbol="T", decimals=18)) == 10**11


@pytest.mark.parametrize("text", ["$0", "0.00 USDC", "$0.000000"])
def test_price_of_zero_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"a price must be positive"):
        amount(text)


def test_price_beyond_a_uint256_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"^prices\['GET /x'\]: .*2\*\*256 - 1"):
        amount("$1" + "0" * 72)


def test_price_in_another_currency_is_an_error() -> None:
    assert amount("0.01 EURC", EURC) == 10_000
    with pytest.raises(ValueError, match=r"'\$0\.01' is in dollars, but EURC is not: write '0\.01 EURC'"):
        amount("$0.01", EURC)
    with pytest.raises(ValueError, match=r"'0\.01 EURC' is not in USDC: write '\$0\.01', '0\.01 USDC'"):
        amount("0.01 EURC")


def test_text_requires_the_decimals_of_the_token() -> None:
    with pytest.raises(ValueError, match=r"'\$0\.01' requires the token's symbol and decimals: set SellerSettings\.d"):
        SellerSettings({"GET /x": "$0.01"}, PAYEE, UNLISTED)
    SellerSettings({"GET /x": Price(1)}, PAYEE, UNLISTED)
    settings = SellerSettings({"GET /x": "0.01 EURC"}, PAYEE, UNLISTED, denomination=EURC)
    assert settings.denomination is EURC
    with pytest.raises(TypeError, match=r"^amount: '\$0\.01' must be an int"):
        _ = Price("$0.01").units


def test_listed_token_needs_no_denomination() -> None:
    assert default_denomination(BASE_SEPOLIA) == USDC
    assert default_denomination(UNLISTED) is None
    settings = SellerSettings({"GET /x": ["$0.01", Price("2 USDC", Scheme.UPTO)]}, PAYEE, BASE_SEPOLIA)
    prices = PriceTable(settings.prices, settings.denomination).find({"type": "http", "method": "GET", "path": "/x"})
    assert [(price.units, price.scheme) for price in prices] == [(10_000, Scheme.EXACT), (2_000_000, Scheme.UPTO)]


@pytest.mark.parametrize("options", [1000, 0.01, None, [1000], [0.01], {"$0.01"}])
def test_price_of_another_type_is_an_error(options: object) -> None:
    with pytest.raises(TypeError, match=r"^prices\['GET /x'\]: .*'\$0\.01'"):
        PriceTable({"GET /x": options}, USDC)  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"symbol": ""}, ValueError, "symbol: '' must be a name without spaces"),
        ({"symbol": "US DC"}, ValueError, "symbol: 'US DC' must be a name without spaces"),
        ({"decimals": -1}, ValueError, "decimals: must be between 0 and 77, got -1"),
        ({"decimals": 78}, ValueError, "decimals: must be between 0 and 77, got 78"),
        ({"decimals": "6"}, TypeError, "decimals: '6' must be an int, got str"),
        ({"decimals": True}, TypeError, "decimals: True must be an int, got bool"),
    ],
)
def test_invalid_denomination_is_an_error(changes: dict[str, object], error: type[Exception], message: str) -> None:
    given_values: dict[str, object] = {"symbol": "USDC", "decimals": 6} | changes
    with pytest.raises(error, match=f"^{message}"):
        Denomination(**given_values)  # type: ignore[arg-type]
