"""A shopper's click to captured and refunded, in the demo shop."""

import re
import time

import pytest
from playwright.sync_api import Page, expect

from browser import BrowserPage, Chromium, serious_findings
from browser.chromium import Scheme
from browser.shop_purchase import pay_with_pretend_wallet
from dashboard_pages import confirm
from shop_demo import ShopDemo

# The checkout leaves its page on its own, so the page reports when it shows the payment.
_REPORT = """
new MutationObserver(() => {
  const shown = document.querySelector('section[aria-label="Progress"] h2')?.textContent;
  if (shown) window.testReport(shown);
}).observe(document, { subtree: true, childList: true, characterData: true });
"""


class StageTimes:
    """Times of the stages of a purchase, in seconds from the click on Pay."""

    def __init__(self, page: Page) -> None:
        self.seconds: dict[str, float] = {}
        self._start = 0.0
        page.expose_function("testReport", self.record)
        page.add_init_script(_REPORT)

    def start(self) -> None:
        self._start = time.perf_counter()

    def record(self, stage: str) -> None:
        self.seconds.setdefault(stage, time.perf_counter() - self._start)

    def __str__(self) -> str:
        return ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in self.seconds.items())


def wait_for_stage(page: Page, stage: str) -> None:
    expect(page.locator(f'[data-stage="{stage}"]')).to_be_visible()


def test_purchase_from_click_to_captured_and_refunded(shopper: BrowserPage, demo: ShopDemo) -> None:
    page = shopper.page
    times = StageTimes(page)
    page.goto(demo.url)
    assert serious_findings(page) == []
    page.get_by_role("button", name="Buy Pending mug").click()
    expect(page.get_by_role("heading", name="Demo shop")).to_be_visible()
    assert page.url.startswith(f"{demo.service}/checkout/mug-")
    assert serious_findings(page) == []
    pay_with_pretend_wallet(page, times.start)

    page.wait_for_url(re.compile(re.escape(demo.url) + "/orders/mug-"))
    times.record("back in the shop")
    wait_for_stage(page, "shipped")
    times.record("captured and shipped")
    assert list(times.seconds)[-3:] == ["Paid", "back in the shop", "captured and shipped"]
    assert serious_findings(page) == []
    order = page.url.rpartition("/")[2]

    page.get_by_role("link", name="The payment in the explorer").click()
    page.wait_for_url(re.compile(re.escape(demo.node) + "/explorer/tx/0x"))
    expect(page.get_by_role("heading", name=re.compile("Transaction"))).to_be_visible()

    page.goto(f"{demo.url}/merchant")
    assert serious_findings(page) == []
    times.start()
    page.get_by_role("button", name=f"Refund 12.50 USDC of {order}").click()
    expect(page.locator(f'tr[data-order="{order}"] button')).to_have_count(0)
    page.goto(f"{demo.url}/orders/{order}")
    wait_for_stage(page, "refunded")
    times.record("refunded after its click")
    expect(page.get_by_role("listitem").filter(has_text="Refunded")).to_be_visible()
    assert serious_findings(page) == []
    print(f"\nfrom the click on Pay: {times}")


def test_part_that_the_dashboard_refunds_is_shown_as_such(shopper: BrowserPage, demo: ShopDemo) -> None:
    page = shopper.page
    page.goto(demo.url)
    page.get_by_role("button", name="Buy Pending mug").click()
    pay_with_pretend_wallet(page)
    page.wait_for_url(re.compile(re.escape(demo.url) + "/orders/mug-"))
    wait_for_stage(page, "shipped")
    address = page.url
    order = address.rpartition("/")[2]

    page.goto(f"{demo.service}/dashboard/orders/{order}")
    page.get_by_label("API key").fill(demo.admin_key)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Refund").click()
    page.get_by_label("Amount to refund").fill("5")
    confirm(page, "Refund")

    page.goto(address)
    wait_for_stage(page, "partly_refunded")
    expect(page.get_by_role("heading", name="A part of your order is refunded")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="Partly refunded: 5.00 USDC of 12.50 USDC")).to_be_visible()
    assert serious_findings(page) == []
    page.goto(f"{demo.url}/merchant")
    page.get_by_role("button", name=f"Refund the rest: 7.50 USDC of {order}").click()
    page.goto(address)
    wait_for_stage(page, "refunded")
    expect(page.get_by_text("Partly refunded")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone_shows_shop_and_product(chromium: Chromium, demo: ShopDemo, scheme: Scheme) -> None:
    with chromium.page(scheme=scheme, phone=True) as opened:
        opened.faults.expect_origins(demo.url, demo.service)
        for path in ("/", "/products/lamp", "/merchant"):
            opened.page.goto(demo.url + path)
            assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert serious_findings(opened.page) == []
        assert opened.faults.unexpected == []
