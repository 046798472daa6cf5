"""The dashboards of two merchants of one process, in one browser."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browser import BrowserPage
from foreseal.ports import next_free_port
from live import LiveNode
from live.accounts import DEV_ACCOUNTS
from live.process import stopping
from payments.api.serving import BUYERS, MERCHANT, HostedServing, Shopper, api_key, configure

PAYEES = {"books": MERCHANT, "games": DEV_ACCOUNTS[2]}


@dataclass(frozen=True)
class Hosted:
    """Two served merchants with the key of an administrator each."""

    url: str
    keys: dict[str, str]

    def sign_in(self, page: Page, name: str, path: str) -> None:
        page.goto(f"{self.url}/{name}/dashboard{path}")
        page.get_by_label("API key").fill(self.keys[name])
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()


@pytest.fixture
def hosted(payments_chain: LiveNode, tmp_path: Path) -> Iterator[Hosted]:
    """Serve two merchants; each has an order with the same id."""
    port, files = next_free_port(), dict[str, Path]()
    for name, payee in PAYEES.items():
        folder = tmp_path / name
        folder.mkdir()
        section = f'[merchant]\nname = "{name}"\n'
        database = f"sqlite:///{folder}/pay.db"
        files[name] = configure(folder, payments_chain.url, database, more=section, payee=payee)
        files[name].write_text(files[name].read_text().replace("127.0.0.1:0", f"127.0.0.1:{port}"))
    keys = {name: api_key(file) for name, file in files.items()}
    with stopping(HostedServing(*files.values())) as service:
        for index, (name, key) in enumerate(keys.items()):
            with Shopper(f"{service.url}/{name}", key) as shopper:
                shopper.stored("same-id", 1_000_000 * (index + 1), BUYERS[index], reference=f"of {name}")
        yield Hosted(service.url, keys)


def test_dashboards_of_two_merchants_are_separate(hosted: Hosted, opened: BrowserPage) -> None:
    page = opened.page
    for name, amount in (("books", "1.00 USDC"), ("games", "2.00 USDC")):
        hosted.sign_in(page, name, "/orders")
        expect(page.get_by_role("banner").get_by_role("link", name=name)).to_be_visible()
        page.get_by_role("link", name="same-id").click()
        expect(page.get_by_text(f"of {name}")).to_be_visible()
        expect(page.get_by_text(amount).first).to_be_visible()
        assert page.url == f"{hosted.url}/{name}/dashboard/orders/same-id"
        page.reload()
        expect(page.get_by_text(f"of {name}")).to_be_visible()
    page.get_by_role("button", name="Void").click()
    page.get_by_role("dialog").get_by_role("button", name="Void").click()
    expect(page.locator(".page-head")).to_contain_text("Voided")
    # Both sessions are open at once, and signing out of one leaves the other.
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("API key")).to_be_visible()
    page.goto(f"{hosted.url}/books/dashboard/orders/same-id")
    expect(page.locator(".page-head")).to_contain_text("Authorized")


def test_key_of_another_merchant_does_not_sign_in(hosted: Hosted, opened: BrowserPage) -> None:
    page = opened.page
    opened.faults.allow("401")
    page.goto(f"{hosted.url}/games/dashboard")
    page.get_by_label("API key").fill(hosted.keys["books"])
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("unknown or revoked")
