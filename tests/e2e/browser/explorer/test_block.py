"""Block pages: each step is selectable and shows the state that it left."""

from playwright.sync_api import expect

from browser.explorer import Explorer, ExplorerChain
from live import DEV_ACCOUNTS, wait_for
from live.blocks import in_one_block

_SECONDS = 30.0


def _block_of_two_steps(chain: ExplorerChain) -> tuple[int, list[str]]:
    """Return a block, not sealed yet, with a transaction in each of two steps after the first one, and their hashes."""

    def act(number: int) -> tuple[int, list[str]]:
        hashes = [chain.included(to=DEV_ACCOUNTS[5].address, value=10**18 * value) for value in (1, 2)]
        assert [int(str(chain.receipt(one)["blockNumber"]), 16) for one in hashes] == [number, number]
        return number, hashes

    return in_one_block(chain.rpc, act)


def test_each_step_shows_its_header_and_state(explorer: Explorer, chain: ExplorerChain) -> None:
    receiver = DEV_ACCOUNTS[5].address
    number, hashes = _block_of_two_steps(chain)
    wait_for(lambda: int(chain.rpc("eth_blockNumber"), 16) >= number, _SECONDS, "the sealed block")
    steps = [chain.rpc("foreseal_transactionStatus", one)["flashblockIndex"] for one in hashes]
    first, second = (int(step, 16) for step in steps)
    assert first < second
    before = int(chain.rpc("eth_getBalance", receiver, hex(number - 1)), 16)
    with explorer.opened(f"/block/{number}") as page:
        links = page.get_by_role("navigation", name="Steps of this block").get_by_role("link")
        expect(links).to_have_count(second + 1)
        for step, ether in ((first, 1), (second, 3)):
            links.nth(step).click()
            expect(page).to_have_url(explorer.address(f"/block/{number}/step/{step}"))
            expect(links.nth(step)).to_have_attribute("aria-current", "step")
            at = {"blockNumber": hex(number), "flashblockIndex": hex(step)}
            header = chain.rpc("eth_getBlockByNumber", at, False)
            facts = page.locator(".panel", has=page.get_by_role("heading", name=f"Header at step {step}"))
            for field in ("hash", "stateRoot", "transactionsRoot", "receiptsRoot"):
                expect(facts).to_contain_text(header[field])
            state = page.locator(".panel", has=page.get_by_role("heading", name=f"State at step {step}", exact=True))
            state.get_by_label("Address").fill(receiver)
            balance = f"{(before + 10**18 * ether) // 10**18:,}".replace(",", "\u202f")
            expect(state.locator("dd", has_text="ETH")).to_contain_text(f"{balance} ETH")
            expect(page.get_by_role("table", name="Transactions").locator("tbody tr")).to_have_count(ether - ether // 2)
        changes = page.locator(".panel", has=page.get_by_role("heading", name=f"State changes of step {second}"))
        changes.get_by_role("button", name="Show state changes").click()
        expect(changes.get_by_role("row").filter(has_text="balance").first).to_contain_text("ETH")


def test_block_under_construction_follows_the_chain(explorer: Explorer, chain: ExplorerChain) -> None:
    with explorer.opened("/block/pending") as page:
        heading = page.get_by_role("heading", level=1)
        expect(heading).to_contain_text("under construction")
        shown = heading.locator(".number").inner_text()
        expect(heading.locator(".number")).not_to_have_text(shown)


def test_finality_of_an_open_block_advances(explorer: Explorer, chain: ExplorerChain) -> None:
    digest = chain.included(value=1)
    number = int(str(chain.receipt(digest)["blockNumber"]), 16)
    with explorer.opened(f"/block/{number}") as page:
        heading = page.get_by_role("heading", level=1)
        expect(heading).to_contain_text("finalized")


def test_missing_blocks_are_explained(explorer: Explorer) -> None:
    with explorer.opened("/block/999999999") as page:
        expect(page.get_by_role("alert")).to_contain_text("The chain has no such block.")
    with explorer.opened("/block/zzz") as page:
        expect(page.get_by_role("alert")).to_contain_text("zzz is not the number or the hash of a block.")
    with explorer.opened("/block/0/step/77") as page:
        expect(page.get_by_role("alert")).to_contain_text("The node has no step 77 of this block.")
