"""Fixtures of the tests of the dashboard: a development chain, and `foreseal pay serve` on it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from browser import BrowserPage, Chromium
from dashboard_pages import Shop
from foreseal.payments.api.roles import Role
from foreseal.payments.contracts.development import PAYOUTS, TOKEN
from live import LiveNode, live_node
from live.sending import Sender
from payments.api.serving import MERCHANT, api_key, configure, serving

POLICY = """webhook_networks = ["127.0.0.0/8"]
[policy]
confirmed = "sealed"
[dashboard]
explorer_url = "http://127.0.0.1:1/explorer"
"""


@pytest.fixture(scope="session")
def payments_chain() -> Iterator[LiveNode]:
    """Run a development chain with payments on which blocks become final soon."""
    with live_node("--payments", "--block-time", "1s", "--safe-depth", "2", "--finalized-depth", "4") as node:
        yield node


@pytest.fixture(scope="session")
def shop(payments_chain: LiveNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """Serve a merchant whose payee lets the payouts contract pay."""
    folder = tmp_path_factory.mktemp("shop")
    approval = "0x095ea7b3" + PAYOUTS[2:].lower().rjust(64, "0") + f"{10**12:064x}"
    Sender(payments_chain.rpc, MERCHANT).send(to=TOKEN, data=approval, gas=100_000)
    config = configure(folder, payments_chain.url, f"sqlite:///{folder}/pay.db", more=POLICY)
    with serving(config) as service:
        yield Shop(service, {role: api_key(config, role.value) for role in Role}, folder / "pay.db")


@pytest.fixture
def page(opened: BrowserPage) -> Page:
    """Open a page, which must show no fault by the end."""
    return opened.page


@pytest.fixture
def another(chromium: Chromium) -> Iterator[BrowserPage]:
    """Open a page in another browser."""
    with chromium.page() as other:
        yield other
