"""A seller of the x402 tests on a real node, which browsers reach over HTTP."""

from collections.abc import Iterator

import pytest

from browser import Chromium
from browser.seller_site import SellerSite
from payments.x402.fixtures import node_of_x402, world
from payments.x402.pairings.serving import serving
from payments.x402.selling import Selling
from payments.x402.world import World

__all__ = ["node_of_x402", "world"]


@pytest.fixture
def seller(chromium: Chromium, world: World, url: str) -> Iterator[SellerSite]:
    """Run a seller; not started without a browser."""
    selling = Selling(world, url)
    with serving(selling.app) as address:
        yield SellerSite(selling, address)
