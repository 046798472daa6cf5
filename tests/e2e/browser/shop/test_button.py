"""The payment button on pages of a shop, in a real browser."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any

from playwright.sync_api import Page, expect

from browser import BrowserPage, PageFaults
from browser.shop_purchase import pay_with_pretend_wallet
from http_thread import QuietHandler, running_server
from shop_demo import ShopDemo

PAGE = '<!doctype html><html lang="en"><title>Other</title><link rel="icon" href="data:,"><main></main></html>'
DROPPED = "does not match the recipient window's origin"


class OtherSite(QuietHandler):
    """A site of another origin, with one page."""

    def do_GET(self) -> None:
        self.respond(200, PAGE.encode(), content_type="text/html")


@contextmanager
def other_site() -> Iterator[str]:
    """Serve a site of another origin; yield its URL."""
    with running_server(ThreadingHTTPServer(("127.0.0.1", 0), OtherSite)) as url:
        yield url


def add_button(page: Page, demo: ShopDemo, **attributes: str) -> None:
    """Add the script to the page as a shop would, with `data-` attributes."""
    page.evaluate(
        """([source, attributes]) => {
          const script = document.createElement('script');
          script.src = source;
          Object.assign(script.dataset, attributes);
          document.querySelector('main').append(script);
        }""",
        [f"{demo.service}/checkout/static/checkout/button.js", attributes],
    )


def test_click_opens_a_window_and_its_messages_reach_the_shop(shopper: BrowserPage, demo: ShopDemo) -> None:
    page = shopper.page
    page.goto(f"{demo.url}/products/mug")
    with page.expect_popup() as opening:
        page.get_by_role("button", name="Pay in a window").click()
    popup = opening.value
    faults = PageFaults(popup)
    faults.expect_origins(demo.service)
    pay_with_pretend_wallet(popup)
    page.wait_for_url(re.compile(re.escape(demo.url) + "/orders/mug-"))
    expect(page.locator('[data-stage="shipped"]')).to_be_visible()
    assert faults.unexpected == []


def test_click_opens_the_checkout_of_a_new_order(shopper: BrowserPage, demo: ShopDemo) -> None:
    page = shopper.page
    page.goto(demo.url)
    add_button(page, demo, orderUrl="/products/mug/orders", label="Pay now")
    page.get_by_role("button", name="Pay now").click()
    page.wait_for_url(re.compile(re.escape(demo.service) + "/checkout/mug-[0-9a-f]+#cs_"))
    expect(page.get_by_role("heading", name="Demo shop")).to_be_visible()


def test_link_of_another_site_is_not_opened(shopper: BrowserPage, demo: ShopDemo) -> None:
    page = shopper.page
    page.route("**/order", lambda route: route.fulfill(json={"checkout_url": "http://other.test/checkout/1"}))
    page.goto(demo.url)
    page.evaluate(
        "() => { window.shown = new Promise((resolve) =>"
        " addEventListener('foreseal-checkout', (event) => resolve(event.detail))); }"
    )
    add_button(page, demo, orderUrl="/order")
    page.get_by_role("button", name="Pay with stablecoins").click()
    assert page.evaluate("window.shown") == {"error": "not a payment link of this service"}
    assert page.url == f"{demo.url}/"


def test_page_of_another_origin_gets_no_message(opened: BrowserPage, demo: ShopDemo) -> None:
    page = opened.page
    opened.faults.allow(DROPPED)
    made: Any = page.request.post(f"{demo.url}/products/mug/orders", headers={"origin": demo.url}).json()
    with other_site() as url:
        opened.faults.expect_origins(url, demo.service)
        page.goto(url)
        page.evaluate("addEventListener('message', (event) => (window.received ??= []).push(event.data))")
        add_button(page, demo, mode="popup", checkoutUrl=made["checkout_url"])
        with page.expect_popup() as opening:
            page.get_by_role("button", name="Pay with stablecoins").click()
        popup = opening.value
        pay_with_pretend_wallet(popup)
        expect(popup.get_by_role("heading", name="Paid")).to_be_visible()
        # The browser drops each message and reports it in this page.
        assert any(DROPPED in fault for fault in opened.faults.messages)
        assert page.evaluate("window.received ?? []") == []
