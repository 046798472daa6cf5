"""Each failure of a payment has its own sentence."""

import re
from collections.abc import Iterator

import pytest
from eth_account import Account
from playwright.sync_api import Page, Route, expect

from browser import BrowserPage, Chromium
from browser.checkout_shop import CheckoutShop
from browser.chromium import open_page
from browser.wallet import BrowserWallet, WalletOptions
from payments.api.serving import BUYERS

BUYER, OTHER = BUYERS[0], BUYERS[1]
# The browser reports a response of an error as an error of the console.
FAILED = "Failed to load resource"


@pytest.fixture
def page(opened: BrowserPage) -> Iterator[Page]:
    """Provide a page on which requests may fail."""
    opened.faults.allow(FAILED)
    yield opened.page
    opened.page.unroute_all(behavior="ignoreErrors")
    assert opened.faults.policy_violations == []


def connect(page: Page, link: str) -> None:
    page.goto(link)
    page.get_by_role("button", name="Connect Test wallet").click()


_SENTENCES = {
    "invalid_signature": "The signature is not valid for this account.",
    "too_many_requests": "Too many attempts. Wait",
}


def pay(page: Page) -> None:
    page.get_by_role("button", name="Pay 1.5").click()


def expect_failure(page: Page, code: str, sentence: str) -> None:
    notice = page.locator(f'[data-failure="{code}"]')
    expect(notice).to_be_visible()
    expect(notice).to_contain_text(sentence)


def test_missing_network_is_added_with_one_click(page: Page, shop: CheckoutShop) -> None:
    wallet = BrowserWallet(page, [BUYER], WalletOptions(chain_id=1, chains=(1,)))
    connect(page, shop.link("network"))
    expect_failure(page, "wrong_network", "Your wallet is on another network. Switch it to Dev to pay.")
    expect(page.get_by_role("button", name="Pay 1.5")).to_be_disabled()
    page.get_by_role("button", name="Switch to Dev").click()
    expect(page.get_by_role("button", name="Pay 1.5")).to_be_enabled()
    ((added,),) = wallet.calls("wallet_addEthereumChain")
    assert (added["chainId"], added["chainName"]) == ("0x7a69", "Dev")


def test_rejected_signature_and_rejected_connection(page: Page, shop: CheckoutShop) -> None:
    wallet = BrowserWallet(page, [BUYER], WalletOptions(rejects=("eth_requestAccounts", "eth_signTypedData_v4")))
    connect(page, shop.link("rejected"))
    expect_failure(page, "rejected", "You rejected the request in the wallet. Nothing was paid.")
    wallet.set("rejects", ["eth_signTypedData_v4"])
    page.get_by_role("button", name="Connect Test wallet").click()
    pay(page)
    expect_failure(page, "rejected", "You rejected the request in the wallet. Nothing was paid.")
    assert shop.merchant.status("rejected") == "Drafted / idle"


def test_account_without_funds(page: Page, shop: CheckoutShop) -> None:
    BrowserWallet(page, [Account.from_key("0x" + "77" * 32)])
    connect(page, shop.link("poor"))
    pay(page)
    expect_failure(page, "insufficient_balance", "This account has 0.00 USDC; the order costs 1.50 USDC.")


def test_locked_wallet(page: Page, shop: CheckoutShop) -> None:
    BrowserWallet(page, [BUYER], WalletOptions(is_locked=True))
    connect(page, shop.link("locked"))
    expect_failure(page, "locked", "The wallet is locked")


def test_wallet_without_accounts(page: Page, shop: CheckoutShop) -> None:
    BrowserWallet(page, [])
    connect(page, shop.link("no account"))
    expect_failure(page, "no_account", "The wallet shared no account.")


def test_wallet_that_cannot_sign(page: Page, shop: CheckoutShop) -> None:
    BrowserWallet(page, [BUYER], WalletOptions(unsupported=("eth_signTypedData_v4",)))
    connect(page, shop.link("unsupported"))
    pay(page)
    expect_failure(page, "unsupported", "This wallet cannot sign the payment. Use another wallet.")


def test_account_changes_before_and_during_the_signature(page: Page, shop: CheckoutShop) -> None:
    wallet = BrowserWallet(page, [BUYER, OTHER])
    connect(page, shop.link("changed"))
    wallet.switch_accounts(OTHER, BUYER)
    expect_failure(page, "account_changed", "The wallet changed its account. Check the account, then pay again.")
    wallet.set("switchesDuringSignature", True)
    pay(page)
    expect_failure(page, "account_changed", "The wallet changed its account.")
    assert shop.merchant.status("changed") == "Drafted / idle"


def test_order_of_another_payer(page: Page, shop: CheckoutShop) -> None:
    wallet = BrowserWallet(page, [BUYER, OTHER])
    connect(page, shop.link("bound", payer=OTHER.address))
    expect_failure(page, "payer_mismatch", "This order is for another account.")
    wallet.switch_accounts(OTHER)
    expect(page.get_by_role("button", name="Pay 1.5")).to_be_enabled()


def test_order_that_is_already_paid_and_one_paid_in_another_tab(chromium: Chromium, shop: CheckoutShop) -> None:
    link = shop.link("twice")
    with chromium.context() as context:
        first, second = open_page(context).page, open_page(context).page
        for page in (first, second):
            BrowserWallet(page, [BUYER])
            connect(page, link)
        pay(first)
        expect(first.get_by_role("heading", name="Paid")).to_be_visible()
        expect_failure(second, "paid_elsewhere", "This order was paid in another tab or on another device.")
        expect(first.locator('[data-failure="paid_elsewhere"]')).to_have_count(0)
        second.reload()
        expect_failure(second, "already_paid", "This order is already paid.")


def test_order_expires_while_the_page_is_open(page: Page, shop: CheckoutShop) -> None:
    page.clock.install()
    page.goto(shop.link("expiring", valid_seconds=600))
    expect(page.get_by_role("timer")).to_be_visible()
    page.clock.fast_forward("10:00")
    expect_failure(page, "order_expired", "This order has expired. Go back to the shop and order again.")


def test_order_that_the_shop_cancels_while_the_page_is_open(page: Page, shop: CheckoutShop) -> None:
    page.goto(shop.link("canceled"))
    expect(page.get_by_role("timer")).to_be_visible()
    shop.merchant.made("/v1/orders/canceled/void")
    expect_failure(page, "order_canceled", "The shop has canceled this order. Nothing will be charged.")


def test_terms_that_differ_from_the_shown_ones_are_not_signed(page: Page, shop: CheckoutShop) -> None:
    wallet = BrowserWallet(page, [BUYER])

    def enlarge(route: Route) -> None:
        terms = route.fetch().json()
        terms["typed_data"]["message"]["value"] = 9_000_000
        route.fulfill(json=terms)

    page.route(re.compile(r"/payment\?"), enlarge)
    connect(page, shop.link("enlarged"))
    pay(page)
    expect_failure(page, "amount_changed", "Nothing was signed; reload the page.")
    assert wallet.calls("eth_signTypedData_v4") == []


def test_unreachable_service_is_found_again(page: Page, shop: CheckoutShop) -> None:
    BrowserWallet(page, [BUYER])
    link = shop.link("unreachable")
    page.route(re.compile("/v1/checkout/"), lambda route: route.abort())
    page.goto(link)
    expect_failure(page, "unreachable", "The payment service cannot be reached.")
    page.unroute(re.compile("/v1/checkout/"))
    expect(page.get_by_role("button", name="Connect Test wallet")).to_be_visible()
    expect(page.locator('[data-failure="unreachable"]')).to_have_count(0)


@pytest.mark.parametrize(
    ("status", "code", "sentence"),
    [
        ("behind", "node_behind", "The network is behind."),
        ("unreachable", "node_unreachable", "cannot reach the network"),
    ],
)
def test_node_that_is_behind_or_unreachable(
    page: Page, shop: CheckoutShop, status: str, code: str, sentence: str
) -> None:
    def changed(route: Route) -> None:
        checkout = route.fetch().json()
        checkout["order"]["chain_status"] = status
        route.fulfill(json=checkout)

    page.route(re.compile("/v1/checkout/"), changed)
    page.goto(shop.link(code))
    expect_failure(page, code, sentence)


def test_too_many_attempts(page: Page, shop: CheckoutShop) -> None:
    BrowserWallet(page, [BUYER])
    link = shop.link("attempts")
    connect(page, link)
    page.evaluate("() => { window.testWalletSign = async () => '0x' + '11'.repeat(65); }")
    # Attempts return with time, so that a slow browser has more than six.
    answers: list[str] = []
    while "too_many_requests" not in answers and len(answers) < 20:
        with page.expect_response(re.compile("/authorization")) as answered:
            pay(page)
        answers.append(str(answered.value.json()["error"]["code"]))
        expect_failure(page, answers[-1], _SENTENCES[answers[-1]])
    assert len(answers) > 6
    assert set(answers[:-1]) == {"invalid_signature"}
    assert answers[-1] == "too_many_requests"


def test_incomplete_payment_link(page: Page, shop: CheckoutShop) -> None:
    page.goto(shop.link("incomplete").partition("#")[0])
    expect_failure(page, "not_found", "This payment link is not valid.")
