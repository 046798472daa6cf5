"""A running demo shop, and pages that may visit its servers."""

from collections.abc import Iterator

import pytest

from browser import BrowserPage
from shop_demo import ShopDemo, shop_demo


@pytest.fixture(scope="module")
def demo() -> Iterator[ShopDemo]:
    """Run the demo."""
    with shop_demo() as demo:
        yield demo


@pytest.fixture
def shopper(opened: BrowserPage, demo: ShopDemo) -> BrowserPage:
    """Open a page whose flow visits shop, service and explorer, and no other server."""
    opened.faults.expect_origins(demo.url, demo.service, demo.node)
    return opened
