"""The home page of the explorer on a real node."""

from playwright.sync_api import expect

from browser import BrowserPage, serious_findings
from live import LiveNode


def test_strip_shows_steps_of_the_block_under_construction(opened: BrowserPage, node: LiveNode) -> None:
    page = opened.page
    page.goto(f"{node.url}/explorer")
    expect(page.locator(".strip .step").first).to_be_visible()
    assert serious_findings(page) == []
