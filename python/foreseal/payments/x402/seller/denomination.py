"""Prices in text, such as `"$0.01"` or `"0.01 USDC"`: exact amounts of a token whose decimals are known."""

import re
from dataclasses import dataclass

from x402.mechanisms.evm.default_assets import find_default_asset

from foreseal.payments.amounts import to_units
from foreseal.payments.typed_data import Domain

_DOLLARS = re.compile(r"\$ ?(?P<number>[0-9]+(\.[0-9]+)?)")
_TOKENS = re.compile(r"(?P<number>[0-9]+(\.[0-9]+)?) (?P<symbol>\S+)")
_MAX_DECIMALS = 77
"""Decimals beyond which not even one whole token fits into a uint256."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denomination:
    """Symbol and decimals of a token, in which prices in text are converted."""

    symbol: str
    decimals: int
    dollar: bool = False
    """True if one token is worth one US dollar, so that `"$0.01"` is a price in it."""

    def __post_init__(self) -> None:
        if not self.symbol or self.symbol != "".join(self.symbol.split()):
            raise ValueError(f"symbol: {self.symbol!r} must be a name without spaces")
        if isinstance(self.decimals, bool) or not isinstance(self.decimals, int):
            raise TypeError(f"decimals: {self.decimals!r} must be an int, got {type(self.decimals).__name__}")
        if not 0 <= self.decimals <= _MAX_DECIMALS:
            raise ValueError(f"decimals: must be between 0 and {_MAX_DECIMALS}, got {self.decimals}")

    def units(self, text: str, name: str) -> int:
        """Return a price in smallest units.

        Raises ValueError, with the argument's name and the valid forms, for other text, another symbol, and more
        decimal places than the token has.
        """
        match = _DOLLARS.fullmatch(text) or _TOKENS.fullmatch(text)
        if match is None:
            raise ValueError(f"{name}: {text[:100]!r} is not a price such as {self._forms()}")
        symbol = match.groupdict().get("symbol")
        if symbol is None and not self.dollar:
            raise ValueError(f"{name}: {text[:100]!r} is in dollars, but {self.symbol} is not: write {self._forms()}")
        if symbol not in (None, self.symbol):
            raise ValueError(f"{name}: {text[:100]!r} is not in {self.symbol}: write {self._forms()}")
        try:
            return to_units(match["number"], self.decimals)
        except ValueError as error:
            reason = str(error).removeprefix("amount: ")
            raise ValueError(f"{name}: {reason}; {self.symbol} has {self.decimals} decimal places") from None

    def _forms(self) -> str:
        token = f"'0.01 {self.symbol}', or an int in the token's smallest unit"
        return f"'$0.01', {token}" if self.dollar else token


def default_denomination(domain: Domain) -> Denomination | None:
    """Return the denomination of a dollar token that the package `x402` lists; None for any other token."""
    asset = find_default_asset(domain.contract, f"eip155:{domain.chain_id}")
    if asset is None:
        return None
    return Denomination(symbol=asset["symbol"], decimals=asset["decimals"], dollar=True)
