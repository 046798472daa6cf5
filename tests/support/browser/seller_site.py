"""A seller with x402 that browsers reach over HTTP."""

from dataclasses import dataclass

from payments.x402.selling import Selling


@dataclass(frozen=True)
class SellerSite:
    """A seller with its address."""

    selling: Selling
    url: str
