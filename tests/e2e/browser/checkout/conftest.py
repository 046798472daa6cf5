"""A development chain with payments, a real service with a checkout page, and a merchant."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from browser.checkout_shop import MERCHANT_NAME, POLICY, CheckoutShop
from browser.shop_site import ShopSite, shop_site
from foreseal.ports import next_free_port
from live import live_node
from payments.api.serving import Shopper, api_key, configure, serving


@pytest.fixture(scope="module")
def site() -> Iterator[ShopSite]:
    """Run the website of the shop."""
    with shop_site() as running:
        yield running


@pytest.fixture
def foreign_site() -> Iterator[ShopSite]:
    """Run a website whose origin is not configured."""
    with shop_site() as running:
        yield running


@pytest.fixture(scope="module")
def shop(site: ShopSite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CheckoutShop]:
    """Run a chain and a service."""
    folder: Path = tmp_path_factory.mktemp("checkout")
    port = next_free_port()
    url = f"http://127.0.0.1:{port}"
    section = (
        f'[checkout]\npublic_url = "{url}"\nmerchant_name = "{MERCHANT_NAME}"\nnetwork_name = "Dev"\n'
        f'origins = ["{site.url}"]\n'
        f'pretend_wallet = true\nrpc_url = "{url}"\n'
    )
    with live_node("--payments", "--block-time", "1s", "--safe-depth", "2", "--finalized-depth", "4") as chain:
        config = configure(folder, chain.url, f"sqlite:///{folder}/pay.db", more=POLICY + section)
        config.write_text(config.read_text().replace('"127.0.0.1:0"', f'"127.0.0.1:{port}"'))
        with serving(config) as service, Shopper(service.url, api_key(config)) as merchant:
            yield CheckoutShop(service, merchant, chain, site)
