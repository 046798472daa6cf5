"""A browser pays for a resource of a seller, on a real chain."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from eth_account import Account
from playwright.sync_api import Page, Route, expect

from browser import BrowserPage, serious_findings
from browser.seller_site import SellerSite
from browser.wallet import BrowserWallet, WalletOptions
from payments.x402.world import BUYERS, CHAIN_ID, SHOP, World

pytestmark = pytest.mark.sqlite_only

BUYER = BUYERS[14]
ON_CHAIN = WalletOptions(chain_id=CHAIN_ID, chains=(1, CHAIN_ID))
PAY = "Pay with Test wallet"
MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture
def page(opened: BrowserPage) -> Iterator[Page]:
    """Provide a page on which requests fail: the browser reports each demand as an error of the console."""
    opened.faults.allow("Failed to load resource")
    yield opened.page
    opened.page.unroute_all(behavior="ignoreErrors")
    assert opened.faults.policy_violations == []


def pay(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_role("button", name=PAY).click()


def expect_failure(page: Page, code: str, sentence: str) -> None:
    notice = page.locator(f'[data-failure="{code}"]')
    expect(notice).to_be_visible()
    expect(notice).to_contain_text(sentence)


def test_buyer_pays_and_sees_the_content(page: Page, world: World, seller: SellerSite) -> None:
    BrowserWallet(page, [BUYER], ON_CHAIN)
    before = world.balance(SHOP.address)
    page.goto(f"{seller.url}/report?page=1")
    expect(page.locator(".price")).to_have_text("0.001 USDC")
    expect(page.locator(".resource")).to_have_text("/report?page=1")
    assert serious_findings(page) == []
    page.get_by_role("button", name=PAY).click()
    content = page.get_by_role("region", name="Paid content")
    expect(content).to_have_text('{"path":"/report","run":1}')
    expect(page.get_by_role("heading", name="Paid")).to_be_visible()
    assert world.balance(SHOP.address) == before + 1000
    assert serious_findings(page) == []
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Save the content").click()
    assert downloading.value.path().read_text() == '{"path":"/report","run":1}'
    # A reload repeats the same payment, which is not charged again.
    page.reload()
    expect(content).to_have_text('{"path":"/report","run":1}')
    assert (world.balance(SHOP.address), seller.selling.runs) == (before + 1000, {"/report": 1})


def test_missing_network_is_added_and_rejection_costs_nothing(page: Page, seller: SellerSite) -> None:
    wallet = BrowserWallet(page, [BUYER], WalletOptions(chain_id=1, chains=(1,), rejects=("eth_signTypedData_v4",)))
    pay(page, f"{seller.url}/report")
    expect_failure(page, "rejected", "You rejected the request in the wallet. Nothing was paid.")
    ((added,),) = wallet.calls("wallet_addEthereumChain")
    assert added["chainId"] == hex(CHAIN_ID)
    assert not seller.selling.runs
    wallet.set("rejects", [])
    page.get_by_role("button", name=PAY).click()
    expect(page.get_by_role("region", name="Paid content")).to_be_visible()


def test_account_without_funds(page: Page, seller: SellerSite) -> None:
    BrowserWallet(page, [Account.from_key("0x" + "77" * 32)], ON_CHAIN)
    pay(page, f"{seller.url}/report")
    expect_failure(page, "refused", "This account has too little of the token. Nothing was paid.")
    expect(page.get_by_role("button", name=PAY)).to_be_enabled()
    assert not seller.selling.runs


def test_error_of_the_handler_is_not_charged(page: Page, world: World, seller: SellerSite) -> None:
    BrowserWallet(page, [BUYER], ON_CHAIN)
    before = world.balance(SHOP.address)
    pay(page, f"{seller.url}/error")
    expect_failure(page, "not_charged", "The seller returned an error (status 404). Nothing was charged.")
    assert world.balance(SHOP.address) == before


def test_open_outcome_repeats_the_same_payment(page: Page, seller: SellerSite) -> None:
    wallet = BrowserWallet(page, [BUYER], ON_CHAIN)
    lost: list[str] = []

    def lose_first(route: Route) -> None:
        header = route.request.headers.get("payment-signature")
        if header is None:
            route.continue_()
            return
        lost.append(header)
        if len(lost) == 1:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route(re.compile("/report$"), lose_first)
    pay(page, f"{seller.url}/report")
    expect(page.get_by_role("region", name="Paid content")).to_have_text('{"path":"/report","run":1}')
    assert len(set(lost)) == 1
    assert len(wallet.calls("eth_signTypedData_v4")) == 1


def test_handler_without_an_answer_leaves_the_outcome_open(page: Page, seller: SellerSite) -> None:
    wallet = BrowserWallet(page, [BUYER], ON_CHAIN)
    pay(page, f"{seller.url}/crash")
    expect_failure(page, "undecided", "the same payment is never charged twice")
    page.reload()
    expect_failure(page, "undecided", "the same payment is never charged twice")
    assert seller.selling.runs == {"/crash": 1}
    assert wallet.calls("eth_signTypedData_v4") == []  # none after the reload


@pytest.mark.parametrize("path", ["/permit2", "/upto/1", "/tick"])
def test_demand_that_no_wallet_can_sign(page: Page, seller: SellerSite, path: str) -> None:
    page.goto(f"{seller.url}{path}")
    expect_failure(page, "no_option", "Use a client of x402.")


def test_price_that_changes_is_not_signed(page: Page, seller: SellerSite) -> None:
    wallet = BrowserWallet(page, [BUYER], ON_CHAIN)
    amounts = iter([1000, 9000])

    def change(route: Route) -> None:
        if route.request.headers["accept"] != "application/json":
            route.continue_()
            return
        response = route.fetch()
        demand: dict[str, Any] = response.json()
        demand["accepts"][0]["amount"] = str(next(amounts))
        route.fulfill(response=response, json=demand)

    page.route(re.compile("/report$"), change)
    pay(page, f"{seller.url}/report")
    expect_failure(page, "changed", "The price changed while you looked at it. Nothing was signed")
    assert wallet.calls("eth_signTypedData_v4") == []


def test_hostile_texts_are_shown_as_text(page: Page, seller: SellerSite) -> None:
    def change_demand(route: Route) -> None:
        if route.request.headers["accept"] != "application/json":
            route.continue_()
            return
        response = route.fetch()
        demand: dict[str, Any] = response.json()
        demand["accepts"][0]["extra"]["name"] = MARKUP
        route.fulfill(response=response, json=demand)

    def change_details(route: Route) -> None:
        details: dict[str, Any] = route.fetch().json()
        route.fulfill(json=details | {"symbol": MARKUP, "seller_name": MARKUP, "network_name": f"{MARKUP}\u202e"})

    page.route(re.compile("/report"), change_demand)
    page.route(re.compile("details.json"), change_details)
    BrowserWallet(page, [BUYER], ON_CHAIN)
    page.goto(f"{seller.url}/report?name={MARKUP}")
    expect(page.locator("h1")).to_have_text(MARKUP)
    expect(page.locator(".price")).to_have_text(f"0.001 {MARKUP}")
    expect(page.get_by_role("button", name=PAY)).to_be_visible()
    expect(page.locator("main :is(script, [onerror], img:not(.wallets img))")).to_have_count(0)
    assert "\u202e" not in page.locator("main").inner_text()
