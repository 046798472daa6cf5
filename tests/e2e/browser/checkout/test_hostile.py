"""Hostile texts of orders, tokens and networks: the page shows them as text and runs nothing."""

import re
from typing import Any

import pytest
from playwright.sync_api import Dialog, Page, Route, expect

from browser import BrowserPage, serious_findings
from browser.checkout_shop import CheckoutShop

MARKUP = "<img src=x onerror=alert(1)><script>alert(1)</script>"
# A direction mark would show the amount of the rest reversed; others end an attribute, a template or a script.
HOSTILE = (MARKUP, '"><svg/onload=alert(1)>', "${alert(1)}", "</script><script>alert(1)</script>", "pay\u202e005\u200b")


@pytest.fixture
def page(opened: BrowserPage) -> Page:
    """Provide a page whose scripts open no dialog."""

    def record(dialog: Dialog) -> None:
        opened.faults.messages.append(f"error: dialog {dialog.message}")
        dialog.dismiss()

    opened.page.on("dialog", record)
    return opened.page


def expect_no_markup(page: Page) -> None:
    """Check that no element comes from a text, and no hidden character is left."""
    # Icons of wallets are the only images.
    expect(page.locator("main :is(script, iframe, [onerror], [onload], img:not(.wallets img))")).to_have_count(0)
    shown = page.locator("main").inner_text()
    assert re.search("[\u202a-\u202e\u2066-\u2069\u200b-\u200f]", shown) is None


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_data_of_an_order_is_shown_as_text(page: Page, shop: CheckoutShop, text: str) -> None:
    id = f"data {HOSTILE.index(text)}"
    page.goto(shop.link(id, metadata={"description": text, text[:40]: text}, reference=text[:100]))
    description = page.locator(".description")
    expect(description).to_be_visible()
    expect(description).to_have_text(re.sub("[\u202e\u200b]", "\ufffd", text))
    expect_no_markup(page)


def test_hostile_id_of_an_order(page: Page, shop: CheckoutShop) -> None:
    page.goto(shop.link('"><img src=x onerror=alert(1)>'))
    expect(page.get_by_role("timer")).to_be_visible()
    page.get_by_text("Pay with your phone").click()
    expect(page.get_by_role("img", name="QR code of the payment link")).to_be_visible()
    expect_no_markup(page)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_texts_of_token_and_network_are_shown_as_text(page: Page, shop: CheckoutShop, text: str) -> None:
    def replace(route: Route) -> None:
        checkout: dict[str, Any] = route.fetch().json()
        order = checkout["order"]
        order["token"] |= {"name": text, "symbol": text}
        order["network"]["name"] = text
        order |= {"merchant_name": text, "amount_shown": f"1.5 {text}"}
        route.fulfill(json=checkout)

    page.route(re.compile("/v1/checkout/"), replace)
    page.goto(shop.link(f"token {HOSTILE.index(text)}"))
    expect(page.get_by_role("timer")).to_be_visible()
    expect_no_markup(page)
    assert serious_findings(page) == []
    page.get_by_role("button", name="Connect Pretend wallet").click()
    expect(page.get_by_role("button", name="Pay 1.5")).to_be_visible()
    expect_no_markup(page)
    page.unroute_all(behavior="ignoreErrors")


def test_very_long_texts_leave_the_page_usable(page: Page, shop: CheckoutShop) -> None:
    def replace(route: Route) -> None:
        checkout: dict[str, Any] = route.fetch().json()
        checkout["order"]["token"]["name"] = "x" * 100_000
        checkout["order"] |= {"merchant_name": "x" * 100_000, "description": "x" * 100_000}
        route.fulfill(json=checkout)

    page.route(re.compile("/v1/checkout/"), replace)
    page.goto(shop.link("long"))
    expect(page.get_by_role("timer")).to_be_visible()
    assert len(page.locator("main").inner_text()) < 5_000
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.unroute_all(behavior="ignoreErrors")


# The widest characters of Unicode, letters without a place to break, fillers, and marks that stack.
WIDE = ("\ufdfd" * 60, "W" * 60, "\u3164" * 60, "a" + "\u0301" * 60)


@pytest.mark.parametrize("text", WIDE, ids=["wide", "letters", "fillers", "marks"])
def test_names_do_not_widen_the_page(page: Page, shop: CheckoutShop, text: str) -> None:
    def replace(route: Route) -> None:
        checkout: dict[str, Any] = route.fetch().json()
        order = checkout["order"]
        order["token"] |= {"name": text, "symbol": text}
        order["network"]["name"] = text
        order |= {"merchant_name": text, "description": text, "amount_shown": f"1.5 {text}"}
        route.fulfill(json=checkout)

    page.route(re.compile("/v1/checkout/"), replace)
    page.set_viewport_size({"width": 1200, "height": 800})
    page.goto(shop.link(f"wide {WIDE.index(text)}"))
    expect(page.get_by_role("timer")).to_be_visible()
    page.get_by_role("button", name="Connect Pretend wallet").click()
    expect(page.locator(".pay-button")).to_be_visible()
    for width in (1200, 360):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        main = page.locator("main").bounding_box()
        assert main is not None
        assert main["x"] + main["width"] <= width
    if text == WIDE[2]:
        expect(page.locator(".facts")).to_contain_text("without a name")
    page.unroute_all(behavior="ignoreErrors")
