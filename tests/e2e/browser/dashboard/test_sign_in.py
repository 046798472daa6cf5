"""Sign-in, sign-out, and sessions that end while a page is open."""

import contextlib
import sqlite3

import pytest
from playwright.sync_api import expect

from browser import BrowserPage, Chromium, serious_findings
from browser.chromium import Scheme
from dashboard_pages import Shop
from foreseal.payments.api.roles import Role
from live.blocks import wait_for


def test_key_signs_in_and_out(shop: Shop, opened: BrowserPage) -> None:
    page = opened.page
    opened.faults.allow("401")
    page.goto(f"{shop.url}/orders?state=Expired")
    page.get_by_label("API key").fill("pay_wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("the API key is unknown or revoked")
    expect(page.get_by_text("foreseal pay keys create NAME --role admin --config pay.toml")).to_be_visible()
    page.get_by_label("API key").fill(shop.keys[Role.READER])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Orders", level=1)).to_be_visible()
    assert page.url == f"{shop.url}/orders?state=Expired"
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["name"]) == (True, "Strict", "foreseal-session")
    assert page.evaluate("document.cookie") == ""
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("API key")).to_be_visible()
    assert page.context.cookies() == []
    page.reload()
    expect(page.get_by_label("API key")).to_be_visible()


def test_idle_session_asks_for_the_key_again(shop: Shop, opened: BrowserPage) -> None:
    page = opened.page
    opened.faults.allow("401")
    shop.sign_in(page, Role.READER, "/export")
    expect(page.get_by_role("link", name="CSV")).to_be_visible()
    with contextlib.closing(sqlite3.connect(shop.database, timeout=60)) as database, database:
        database.execute("UPDATE sessions SET used = used - 3600")
    # A process caches a session for a second.
    orders = f"{shop.service.url}/v1/orders"
    wait_for(lambda: page.context.request.get(orders).status == 401, 30.0, "the end of the session")
    page.get_by_role("link", name="Payouts").click()
    expect(page.get_by_role("status").filter(has_text="The session has ended")).to_be_visible()
    page.get_by_label("API key").fill(shop.keys[Role.READER])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Payouts", level=1)).to_be_visible()


def test_address_of_the_page_leads_nowhere_else(shop: Shop, opened: BrowserPage) -> None:
    page = opened.page
    # The last address names an order that no shop can have.
    opened.faults.allow("404", "400")
    for path in ("//evil.test", "/%2f%2fevil.test", "/?next=https://evil.test", "/orders/https:%2f%2fevil.test"):
        page.goto("about:blank")  # the shown page would read with the cleared cookies
        page.context.clear_cookies()
        shop.sign_in(page, Role.READER, path)
        assert page.url.startswith(shop.url)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_pages_have_no_serious_accessibility_finding(
    chromium: Chromium, shop: Shop, scheme: Scheme, phone: bool
) -> None:
    with chromium.page(scheme=scheme, phone=phone) as opened:
        page = opened.page
        page.goto(shop.url)
        expect(page.get_by_label("API key")).to_be_visible()
        assert serious_findings(page) == []
        shop.sign_in(page)
        for path in ("", "/orders", "/payouts", "/transfers", "/webhooks", "/keys", "/export", "/nothing"):
            page.goto(shop.url + path)
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            expect(page.locator(".loading")).to_have_count(0)
            assert serious_findings(page) == [], path
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert opened.faults.unexpected == []
