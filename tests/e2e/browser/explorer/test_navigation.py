"""The search box, the status page, use by keyboard, and the width of a phone."""

import pytest
from playwright.sync_api import Page, expect

from browser.explorer import Explorer, ExplorerChain
from live import DEV_ACCOUNTS, wait_for

UNKNOWN = "0x" + "ab" * 32


def _search(page: Page, text: str) -> None:
    box = page.get_by_label("Search", exact=True)
    box.fill(text)
    box.press("Enter")


def test_search_finds_every_kind(explorer: Explorer, chain: ExplorerChain) -> None:
    digest = chain.included(value=1)
    chain.wait_for_status(digest, "sealed")
    receipt = chain.receipt(digest)
    number = int(str(receipt["blockNumber"]), 16)
    block = str(receipt["blockHash"])
    address = DEV_ACCOUNTS[1].address
    expected = {
        str(number): f"/block/{number}",
        f"#{number}": f"/block/{number}",
        f"{number}.1": f"/block/{number}/step/1",
        hex(number): f"/block/{number}",
        "latest": "/block/latest",
        digest: f"/tx/{digest}",
        digest[2:]: f"/tx/{digest}",
        block: f"/block/{block}",
        address: f"/address/{address}",
        address.lower(): f"/address/{address.lower()}",
    }
    with explorer.opened("") as page:
        for text, path in expected.items():
            _search(page, text)
            expect(page).to_have_url(explorer.address(path))
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("text", [UNKNOWN, "hello", "0xzz", "<b>x</b>", "1.2.3", "%00", "0x12345678901234567890123456"])
def test_search_explains_what_it_does_not_find(explorer: Explorer, text: str) -> None:
    with explorer.opened("/status") as page:
        _search(page, text)
        expect(page.get_by_text("Nothing found.")).to_be_visible()
        expect(page.get_by_role("heading", name=f"Results for {text}", exact=True)).to_be_visible()


def test_status_shows_the_node(explorer: Explorer, chain: ExplorerChain) -> None:
    with explorer.opened("/status") as page:
        expect(page.get_by_text("healthy")).to_be_visible()
        expect(page.locator(".facts", has_text="Version").first).to_contain_text(chain.rpc("web3_clientVersion"))
        expect(page.locator(".facts").first).to_contain_text("sequencer, produces blocks")
        latest = page.locator(".facts > div", has=page.get_by_text("Latest", exact=True)).locator("a")
        shown = latest.inner_text()
        expect(latest).not_to_have_text(shown)


def test_unknown_path_is_explained(explorer: Explorer) -> None:
    with explorer.opened("/no/such/page") as page:
        expect(page.get_by_role("heading", name="Page not found")).to_be_visible()


def _tab_to(page: Page, description: str, focused: str) -> None:
    """Press Tab until an element that matches the selector has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", focused):
            return
    raise AssertionError(f"Tab never reaches {description}")


def test_flow_works_by_keyboard_alone(explorer: Explorer, chain: ExplorerChain) -> None:
    digest = chain.included(value=1)
    with explorer.opened("/status") as page:
        expect(page.get_by_text("healthy")).to_be_visible()
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()
        page.reload()
        _tab_to(page, "the search box", "#search")
        page.keyboard.type(digest)
        page.keyboard.press("Enter")
        expect(page).to_have_url(explorer.address(f"/tx/{digest}"))
        expect(page.locator("main")).to_be_focused()
        expect(page.get_by_role("tab", name="Overview")).to_be_visible()
        _tab_to(page, "the tabs", "[role=tab]")
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name="Logs (0)")).to_be_focused()
        page.keyboard.press("End")
        expect(page.get_by_role("tab", name="Pre-confirmation")).to_be_focused()
        expect(page.get_by_role("button", name="Verify in this browser")).to_be_visible()
        _tab_to(page, "the button", "button.button-primary")
        page.keyboard.press("Enter")
        expect(page.get_by_text("The receipt is valid.")).to_be_visible()


def test_pages_fit_a_phone(explorer: Explorer, chain: ExplorerChain) -> None:
    digest = chain.included(value=1)
    chain.wait_for_status(digest, "sealed")
    number = int(str(chain.receipt(digest)["blockNumber"]), 16)
    address = DEV_ACCOUNTS[0].address
    tabs = ("", "?tab=trace", "?tab=state", "?tab=preconfirmation")
    paths = ["", f"/block/{number}", *(f"/tx/{digest}{tab}" for tab in tabs)]
    paths += [f"/address/{address}", f"/address/{address}?tab=storage", "/logs", "/pool", "/status"]
    for path in paths:
        # `opened` compares the widths at its end, and looks at both colour schemes.
        with explorer.opened(path, phone=True, scheme="dark") as page:
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            wait_for(lambda page=page: page.locator(".loading").count() == 0, 30, "the loaded page")
