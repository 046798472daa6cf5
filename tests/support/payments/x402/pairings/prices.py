"""Price and scheme of each resource of a seller: the same for sellers in Python and in TypeScript (prices.json)."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from payments.x402.world import NETWORK, SHOP, TOKEN


@dataclass(frozen=True)
class Price:
    """One resource. Amounts in smallest units."""

    path: str
    scheme: str
    amount: int
    method: str = "eip3009"
    charged: int | None = None
    """Amount that `upto` charges of its maximum."""

    @property
    def taken(self) -> int:
        """Increase of the payee's balance; the payee has to claim the amount in a channel."""
        return 0 if self.scheme == "batch-settlement" else self.amount if self.charged is None else self.charged

    def accepts(self, **more: Any) -> dict[str, Any]:
        """Return the form of stock servers."""
        extra = {"name": "USDC", "version": "2"} | (
            {} if self.method == "eip3009" else {"assetTransferMethod": self.method}
        )
        price = {"amount": str(self.amount), "asset": TOKEN, "extra": extra}
        return {"scheme": self.scheme, "payTo": SHOP.address, "network": NETWORK, "price": price, **more}


PRICES = (
    Price("/eip3009", "exact", 1000),
    Price("/permit2", "exact", 1100, "permit2"),
    Price("/upto", "upto", 1200, "permit2", charged=700),
)
"""Prices that every party supports."""
CHANNEL = Price("/channel", "batch-settlement", 100)
"""Requested twice: a deposit, then a voucher."""
BROKEN = Price("/broken", "exact", 900)
"""Its handler responds 500, for which no seller charges."""
ALL = (*PRICES, CHANNEL, BROKEN)


def as_json() -> str:
    """Return the prices for the programs in JavaScript."""
    return json.dumps([{"path": each.path, "accepts": each.accepts(), "charged": each.charged} for each in ALL])


HERE = Path(__file__).parent
