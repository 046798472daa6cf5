"""A purchase in the demo shop."""

from collections.abc import Callable

from playwright.sync_api import Page, expect


def pay_with_pretend_wallet(page: Page, before: Callable[[], object] = lambda: None) -> None:
    """Pay on a checkout page; call `before` directly before the click."""
    page.get_by_role("button", name="Connect Pretend wallet").click()
    pay = page.get_by_role("button", name="Pay 12.5")
    expect(pay).to_be_enabled()
    before()
    pay.click()
