"""A shop that sells by payment links of a real service."""

from dataclasses import dataclass
from typing import Any

from browser.shop_site import ShopSite
from live import LiveNode
from payments.api.serving import Serving, Shopper

POLICY = '[policy]\nconfirmed = "sealed"\n'
MERCHANT_NAME = "Book <b>shop</b>"


@dataclass(frozen=True)
class CheckoutShop:
    """A shop that sells by payment links."""

    service: Serving
    merchant: Shopper
    chain: LiveNode
    site: ShopSite
    """Website of the shop, whose origin is configured."""

    def link(self, id: str, amount: int = 1_500_000, **more: Any) -> str:
        """Create an order, and return its payment link."""
        body = {"id": id, "amount": str(amount), "auto_capture": True} | more
        url: str = self.merchant.made("/v1/orders", body)["checkout_url"]
        return url
