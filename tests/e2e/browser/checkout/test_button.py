"""The payment button on pages of a shop, and of sites that are no shop of the service."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser import Chromium, serious_findings
from browser.checkout_shop import CheckoutShop
from browser.chromium import open_page
from browser.shop_site import ShopSite

LABEL = "Pay with stablecoins"
# Records the button's events and all messages.
_RECORD = """
window.recorded = {events: [], messages: []};
addEventListener('foreseal-checkout', ({detail}) => window.recorded.events.push(detail));
addEventListener('message', ({data, origin}) => window.recorded.messages.push({data, origin}));
"""


def open_shop(page: Page, site: ShopSite) -> None:
    page.add_init_script(_RECORD)
    page.goto(site.url)


def recorded(page: Page, kind: str) -> list[Any]:
    events: list[Any] = page.evaluate("(kind) => window.recorded[kind]", kind)
    return events


def click_for_popup(page: Page) -> Page:
    with page.expect_popup() as opening:
        page.get_by_role("button", name=LABEL).click()
    return opening.value


def pay_with_pretend_wallet(page: Page) -> None:
    page.get_by_role("button", name="Connect Pretend wallet").click()
    page.get_by_role("button", name="Pay 1.5").click()
    expect(page.get_by_role("heading", name="Paid")).to_be_visible()


def send_last_message(popup: Page, page: Page) -> None:
    """Wait until the page has received all messages of the popup."""
    popup.evaluate("window.opener.postMessage('last', '*')")
    page.wait_for_function("window.recorded.messages.some(({data}) => data === 'last')")


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_keyboard_opens_the_checkout_of_a_new_order(chromium: Chromium, shop: CheckoutShop, key: str) -> None:
    link = shop.link(f"button {key}")
    shop.site.create_order = lambda: (200, {"checkout_url": link})
    shop.site.show_button(shop.service.url, order_url="/orders", label="Buy the book")
    before = shop.site.orders
    with chromium.page() as opened:
        page = opened.page
        open_shop(page, shop.site)
        button = page.get_by_role("button", name="Buy the book")
        expect(button).to_be_visible()
        page.keyboard.press("Tab")
        expect(button).to_be_focused()
        assert serious_findings(page) == []
        page.keyboard.press(key)
        expect(page).to_have_url(link)
        pay_with_pretend_wallet(page)
    assert shop.site.orders == before + 1
    assert shop.merchant.get(f"/v1/orders/button%20{key}")["order"]["payer"] is not None


def test_popup_reports_the_payment_to_the_page_of_the_shop(chromium: Chromium, shop: CheckoutShop) -> None:
    shop.site.show_button(shop.service.url, checkout_url=shop.link("popup"), mode="popup")
    with chromium.context() as context:
        page = open_page(context).page
        open_shop(page, shop.site)
        popup = click_for_popup(page)
        pay_with_pretend_wallet(popup)
        paid = "['preconfirmed', 'confirmed', 'final'].includes(status)"
        page.wait_for_function(f"window.recorded.events.some(({{status}}) => {paid})")
        send_last_message(popup, page)
        events = recorded(page, "events")
        assert {event["order"] for event in events} == {"popup"}
        assert events[0]["status"] == "open"
        assert page.url == f"{shop.site.url}/"
        assert {message["origin"] for message in recorded(page, "messages")} == {shop.service.url}


def test_page_of_another_origin_gets_nothing(chromium: Chromium, shop: CheckoutShop, foreign_site: ShopSite) -> None:
    foreign_site.show_button(shop.service.url, checkout_url=shop.link("foreign"), mode="popup")
    with chromium.context() as context:
        page = open_page(context).page
        open_shop(page, foreign_site)
        popup = click_for_popup(page)
        pay_with_pretend_wallet(popup)
        send_last_message(popup, page)
        assert recorded(page, "events") == []
        assert [message["data"] for message in recorded(page, "messages")] == ["last"]
        # The page cannot read the order with the link alone: the API rejects its origin.
        failed = page.evaluate(
            "(url) => fetch(url, {headers: {'foreseal-client-secret': 'cs_x'}}).then(() => false, () => true)",
            f"{shop.service.url}/v1/checkout/foreign",
        )
        assert failed


def test_forged_messages_are_no_events(chromium: Chromium, shop: CheckoutShop, foreign_site: ShopSite) -> None:
    shop.site.show_button(shop.service.url, checkout_url=shop.link("forged"), mode="popup")
    forged = {"type": "foreseal.checkout", "order": "forged", "status": "final"}
    with chromium.context() as context:
        page = open_page(context).page
        open_shop(page, shop.site)
        popup = click_for_popup(page)
        expect(popup.get_by_role("button", name="Connect Pretend wallet")).to_be_visible()
        page.wait_for_function("window.recorded.events.length > 0")
        # From the page itself, and from the window once it shows another site.
        page.evaluate("(forged) => window.postMessage(forged, '*')", forged)
        popup.goto(foreign_site.url)
        popup.evaluate("(forged) => window.opener.postMessage(forged, '*')", forged)
        send_last_message(popup, page)
        assert forged in [message["data"] for message in recorded(page, "messages")]
        assert {event["status"] for event in recorded(page, "events")} == {"open"}


@pytest.mark.parametrize(
    ("status", "content", "message"),
    [
        (200, {"checkout_url": "https://evil.example/checkout/a#cs_x"}, "not a payment link of this service"),
        (200, {"checkout_url": "javascript:alert(1)//checkout/"}, "not a payment link of this service"),
        (200, {"checkout_url": "/checkout/a"}, "Invalid URL"),
        (200, {}, "Invalid URL"),
        (500, {}, "the shop returned HTTP status 500"),
    ],
)
@pytest.mark.parametrize("mode", ["page", "popup"])
def test_wrong_answer_of_the_shop_opens_nothing(
    chromium: Chromium, shop: CheckoutShop, mode: str, status: int, content: object, message: str
) -> None:
    shop.site.create_order = lambda: (status, content)
    shop.site.show_button(shop.service.url, order_url="/orders", mode=mode)
    with chromium.context() as context:
        page = open_page(context).page
        open_shop(page, shop.site)
        page.get_by_role("button", name=LABEL).click()
        page.wait_for_function("window.recorded.events.length > 0")
        ((_, error),) = [*recorded(page, "events")[0].items()]
        assert message in error
        expect(page.get_by_role("button", name=LABEL)).to_be_enabled()
        assert page.url == f"{shop.site.url}/"


def test_label_is_text(chromium: Chromium, shop: CheckoutShop) -> None:
    shop.site.show_button(shop.service.url, order_url="/orders", label="&lt;img src=x onerror=alert(1)&gt;")
    with chromium.page() as opened:
        open_shop(opened.page, shop.site)
        expect(opened.page.locator(".foreseal-button")).to_have_text("<img src=x onerror=alert(1)>")
        expect(opened.page.locator("img")).to_have_count(0)
