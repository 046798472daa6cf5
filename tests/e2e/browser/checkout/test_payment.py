"""Shoppers pay on the checkout page of a real service, on a real chain."""

import httpx
import pytest
from playwright.sync_api import Page, expect

from browser import BrowserPage, Chromium, serious_findings
from browser.checkout_shop import MERCHANT_NAME, CheckoutShop
from browser.wallet import BrowserWallet, WalletOptions
from payments.api.serving import BUYERS

BUYER, OTHER = BUYERS[0], BUYERS[1]


def connect(page: Page, link: str, name: str = "Test wallet") -> None:
    page.goto(link)
    page.get_by_role("button", name=f"Connect {name}").click()


def test_shopper_pays_and_returns_to_the_shop(opened: BrowserPage, shop: CheckoutShop) -> None:
    page = opened.page
    BrowserWallet(page, [BUYER])
    link = shop.link(
        "paid", metadata={"description": "<img src=x onerror=alert(1)>"}, success_url=f"{shop.service.url}/docs"
    )
    connect(page, link)
    expect(page.get_by_role("heading", name=MERCHANT_NAME)).to_be_visible()
    expect(page.locator(".description")).to_have_text("<img src=x onerror=alert(1)>")
    assert serious_findings(page) == []
    page.get_by_role("button", name="Pay 1.5").click()
    expect(page).to_have_url(f"{shop.service.url}/docs")
    assert shop.merchant.get("/v1/orders/paid")["order"]["payer"] == BUYER.address


def test_permit_up_to_a_maximum_is_authorized(opened: BrowserPage, shop: CheckoutShop) -> None:
    page = opened.page
    BrowserWallet(page, [BUYERS[2]], WalletOptions(announces=False))
    body = {"id": "maximum", "maximum": "900000"}
    connect(page, shop.merchant.made("/v1/orders", body)["checkout_url"], "Browser wallet")
    page.get_by_role("button", name="Authorize up to").click()
    expect(page.get_by_role("heading", name="Payment authorized")).to_be_visible()
    shop.merchant.made("/v1/orders/maximum/capture", {"amount": "345678"})
    expect(page.get_by_role("heading", name="Paid")).to_be_visible()


def test_pretend_wallet_pays_without_an_installed_one(opened: BrowserPage, shop: CheckoutShop) -> None:
    page = opened.page
    connect(page, shop.link("pretended"), "Pretend wallet")
    page.get_by_role("button", name="Pay 1.5").click()
    expect(page.get_by_role("heading", name="Paid")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone_shows_the_order_and_its_code(chromium: Chromium, shop: CheckoutShop, scheme: str) -> None:
    link = shop.link(f"phone {scheme}")
    with chromium.page(scheme=scheme, phone=True) as opened:  # type: ignore[arg-type]
        page = opened.page
        page.goto(link)
        page.get_by_text("Pay with your phone").click()
        expect(page.get_by_role("img", name="QR code of the payment link")).to_be_visible()
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_role("button", name="Copy the payment link").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == link
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert serious_findings(page) == []
        assert opened.faults.unexpected == []


def test_other_sites_can_frame_no_page_and_load_only_the_button(shop: CheckoutShop) -> None:
    url = f"{shop.service.url}/checkout"
    document = httpx.get(f"{url}/any").headers
    assert "frame-ancestors 'none'" in document["content-security-policy"]
    assert (document["x-frame-options"], document["referrer-policy"]) == ("DENY", "no-referrer")
    button = httpx.get(f"{url}/static/checkout/button.js")
    assert button.headers["cross-origin-resource-policy"] == "cross-origin"
    assert len(button.content) < 10_000
    app = httpx.get(f"{url}/static/checkout/app.js")
    assert app.headers["cross-origin-resource-policy"] == "same-origin"
