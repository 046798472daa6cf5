"""Products of the demo shop."""

from collections.abc import Mapping
from dataclasses import dataclass

from foreseal.payments.amounts import format_tokens


@dataclass(frozen=True, slots=True)
class Product:
    """A product with a fixed price."""

    id: str
    """Identifier in paths; its picture is the file `ID.svg`."""
    name: str
    description: str
    price: int
    """Price in smallest units of the token."""

    @property
    def price_shown(self) -> str:
        """Price in tokens, for people."""
        return shown_price(self.price)


def shown_price(amount: int) -> str:
    """Return an amount in smallest units for people."""
    return f"{format_tokens(amount)} USDC"


PRODUCTS: Mapping[str, Product] = {
    each.id: each
    for each in (
        Product("mug", "Pending mug", "Coffee that is ready before the block is sealed.", 12_500_000),
        Product("notebook", "Ledger notebook", "96 pages, ruled in two columns.", 7_250_000),
        Product("lamp", "Confirmation lamp", "Green after twelve blocks. Bulb included.", 38_000_000),
    )
}
"""All products by id."""
