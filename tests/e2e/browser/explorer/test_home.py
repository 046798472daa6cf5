"""The home page of the explorer: the block under construction, and the sealed blocks behind it."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from browser import Chromium
from browser.explorer import Explorer, ExplorerChain, call_data
from foreseal.payments.contracts.development import TOKEN
from live import LiveNode, live_node, wait_for
from live.blocks import pending_number

_STEPS = ".strip .step:not(.step-next)"


@pytest.fixture(scope="module")
def node(chromium: Chromium) -> Iterator[LiveNode]:
    """Run a node whose blocks last long enough for every flow; the flows seal them."""
    with live_node("--payments", "--step", "200ms", "--block-time", "600s") as node:
        yield node


def _start_of_block(page: Page, chain: ExplorerChain) -> int:
    """Begin a block, wait until the page shows it, and return its number."""
    # The page knows the time of steps only from the stream.
    expect(page.locator(".connection [role=status]")).to_have_text("Live")
    chain.rpc("evm_mine")
    number = pending_number(chain.rpc)
    expect(page.locator(".pending h1 .number")).to_have_text(str(number))
    return number


def _roots(page: Page) -> dict[str, str]:
    """Return the hash and the roots of the shown step."""
    terms = page.locator(".step-roots dt").all_inner_texts()
    values = page.locator(".step-roots dd .hash > span.mono").all_inner_texts()
    return dict(zip(terms, values, strict=True))


def test_steps_arrive_with_transactions_gas_and_new_roots(explorer: Explorer, chain: ExplorerChain) -> None:
    with explorer.opened("") as page:
        steps = page.locator(_STEPS)
        expect(steps.first).to_be_visible()
        _start_of_block(page, chain)
        expect(steps).to_have_count(1)
        before = _roots(page)
        first = chain.included(to=chain.account.address, value=1)
        expect(steps).to_have_count(2)
        after = _roots(page)
        assert before.keys() == {"Block hash", "State root", "Transactions root", "Receipts root"}
        assert all(before[name] != after[name] for name in before)
        expect(page.locator(".step-roots .badge", has_text="changed")).to_have_count(4)
        second = chain.included(to=chain.account.address, value=2)
        expect(steps).to_have_count(3)
        expect(steps.last).to_have_attribute("data-state", "newest")
        expect(steps.last).to_contain_text("21\u202f000 gas")
        rows = page.locator(".pending tbody tr")
        expect(rows).to_have_count(2)
        # The newest transaction comes first.
        expect(rows.first.locator(f'a[href$="{second}"]')).to_be_visible()
        expect(rows.last.locator(f'a[href$="{first}"]')).to_be_visible()
        expect(rows.first).to_contain_text("success")
        expect(page.locator(".pending .figures .meter progress")).to_have_attribute("value", "42000")


def test_payment_in_a_token_shows_its_amount(explorer: Explorer, chain: ExplorerChain) -> None:
    with explorer.opened("") as page:
        expect(page.locator(_STEPS).first).to_be_visible()
        number = _start_of_block(page, chain)
        sender = chain.with_account(5)
        data = call_data("transfer(address,uint256)", chain.account.address, 5_000_000)
        digest = sender.included(to=TOKEN, data=data, gas=100_000)
        row = page.locator(".pending tbody tr").filter(has=page.locator(f'a[href$="{digest}"]'))
        expect(row).to_contain_text("5.00")
        expect(row.get_by_role("link", name="USDC")).to_have_attribute("href", f"/explorer/address/{TOKEN.lower()}")
        expect(row).not_to_contain_text("ETH")
        # The page reads the receipts of a block that had begun before.
        page.reload()
        expect(row).to_contain_text("5.00")
        expect(row).to_contain_text("success")
        page.goto(explorer.address("/block/pending"))
        row = page.get_by_role("table", name="Transactions").locator("tbody tr")
        expect(row).to_have_count(1)
        expect(row).to_contain_text("5.00")
        expect(row.get_by_role("link", name="USDC")).to_be_visible()
        assert pending_number(chain.rpc) == number


def test_search_finds_a_part_in_the_newest_blocks_only(explorer: Explorer, chain: ExplorerChain) -> None:
    with explorer.opened("") as page:
        expect(page.locator(_STEPS).first).to_be_visible()
        _start_of_block(page, chain)
        sender = chain.with_account(6)
        digest = sender.included(value=2)
        expect(page.locator(f'.pending tbody a[href$="{digest}"]')).to_be_visible()
        search = page.get_by_label("Search", exact=True)
        for text, path in (
            (f"{digest[:8]}\u2026{digest[-4:]}", f"/tx/{digest}"),
            (sender.account.address[:10], f"/address/{sender.account.address.lower()}"),
        ):
            search.fill(text)
            search.press("Enter")
            expect(page).to_have_url(explorer.address(path))
        for text in ("0xabcdef12", "0x123456\u20265ffc"):
            search.fill(text)
            search.press("Enter")
            expect(page.get_by_role("heading", name=f"Results for {text}")).to_be_visible()
            expect(page.get_by_text("enter the whole hash")).to_be_visible()


def test_countdown_runs_and_the_sealed_block_moves_behind(explorer: Explorer, chain: ExplorerChain) -> None:
    with explorer.opened("") as page:
        # Blocks that were sealed early have moved the timestamps ahead of the clock.
        for _ in range(8):
            chain.rpc("evm_mine")
        number = _start_of_block(page, chain)
        countdown = page.locator(".countdown")
        expect(countdown).to_contain_text(re.compile(r"Seals in \d+\.\d s"))
        shown = countdown.inner_text()
        expect(countdown).not_to_have_text(shown)
        digest = chain.included(value=3)
        included = int(str(chain.receipt(digest)["blockNumber"]), 16)
        assert included == number
        chain.rpc("evm_mine")
        sealed = page.get_by_role("table", name="Sealed blocks").locator("tbody tr")
        expect(sealed.first.locator("td").first).to_have_text(str(number))
        expect(page.locator(".pending h1 .number")).to_have_text(str(number + 1))
        cells = sealed.filter(has=page.locator(f'a[href$="/block/{number}"]')).first.locator("td")
        # Steps: one for the start of the block and one for the transaction.
        expect(cells.nth(2)).to_have_text("2")
        expect(cells.nth(3)).to_have_text("1")
        expect(page.locator(".chart canvas")).to_have_count(4)
        # The page hears of a transaction through another connection than of its step, perhaps later.
        delay = page.locator(".chart", has_text="Submission to step").locator("strong")
        wait_for(lambda: chain.included(value=3) and "ms" in delay.inner_text(), 60, "a measured delay")


def test_older_step_can_be_selected(explorer: Explorer, chain: ExplorerChain) -> None:
    with explorer.opened("") as page:
        expect(page.locator(_STEPS).first).to_be_visible()
        number = _start_of_block(page, chain)
        chain.included(value=4)
        expect(page.locator(_STEPS)).to_have_count(2)
        page.locator(_STEPS).first.get_by_role("button").click()
        expect(page.locator(".step-roots-title")).to_have_text(f"Step 0 of block {number}")
        expect(page.locator(_STEPS).first.get_by_role("button")).to_have_attribute("aria-pressed", "true")


def test_withdrawn_step_is_shown_as_withdrawn(explorer: Explorer, chain: ExplorerChain) -> None:
    with explorer.opened("") as page:
        expect(page.locator(_STEPS).first).to_be_visible()
        _start_of_block(page, chain)
        snapshot = chain.rpc("evm_snapshot")
        digest = chain.included(value=5)
        expect(page.locator(_STEPS)).to_have_count(2)
        assert chain.rpc("evm_revert", snapshot) is True
        withdrawn = page.locator(f'{_STEPS}[data-state="withdrawn"]')
        expect(withdrawn.first).to_contain_text("withdrawn")
        row = page.locator(".pending tbody tr.row-withdrawn", has=page.locator(f'a[href$="{digest}"]'))
        expect(row).to_contain_text("withdrawn")
        withdrawn.last.get_by_role("button").click()
        expect(page.locator(".step-roots .badge", has_text="withdrawn")).to_be_visible()


def test_steps_arrive_without_websockets(explorer: Explorer, chain: ExplorerChain) -> None:
    with explorer.opened("/search", allow=("WebSocket connection",)) as page:
        page.route_web_socket(lambda _: True, lambda socket: socket.close())
        page.goto(explorer.address(""))
        expect(page.locator(".connection [role=status]")).to_have_text("Live, each second")
        digest = chain.included(value=1)
        expect(page.locator(f'a[href$="{digest}"]').first).to_be_visible()
