"""Transaction pages: life cycle, decoded content, trace, state changes and the pre-confirmation receipt."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser import Chromium
from browser.explorer import EXPLORER_OPTIONS, Explorer, ExplorerChain, call_data
from browser.rpc_interception import alter_answers
from foreseal.payments.contracts.addresses import MULTICALL3
from foreseal.payments.contracts.development import TOKEN
from live import DEV_ACCOUNTS, LiveNode, live_node
from live.contracts import contract


@pytest.fixture(scope="module")
def board(chain: ExplorerChain) -> str:
    """Deploy a contract without a built-in interface."""
    return chain.deploy(contract("Board"), 7)


def paste_abi(page: Page, address: str, abi: str) -> None:
    """Store an ABI in the browser for a contract."""
    page.goto(page.url.split("/explorer")[0] + f"/explorer/address/{address}?tab=contract")
    page.get_by_text("Use another ABI").click()
    page.get_by_label("ABI").fill(abi)
    page.get_by_role("button", name="Use this ABI").click()
    expect(page.get_by_label("Interface")).to_have_value("Pasted ABI")


@pytest.fixture
def manual_node(chromium: Chromium) -> Iterator[LiveNode]:
    """Run a node that seals its blocks on request only."""
    with live_node(*EXPLORER_OPTIONS, "--block-time", "600s") as node:
        yield node


def test_life_cycle_runs_from_unknown_to_finalized(chromium: Chromium, manual_node: LiveNode) -> None:
    explorer, chain = Explorer(chromium, manual_node.url), ExplorerChain(manual_node)
    sender = chain.with_account(3)
    nonce = sender.nonce()
    # Signed, but not sent: its page waits for it. The gap of the nonce retains it in the queue.
    raw, digest = sender.signed(nonce + 1, value=1)
    with explorer.opened(f"/tx/{digest}") as page:
        expect(page.get_by_text("The node has not received this transaction")).to_be_visible()
        assert chain.rpc("eth_sendRawTransaction", raw) == digest
        stages = page.get_by_role("list", name="Life cycle of the transaction").get_by_role("listitem")
        current = page.locator(".life-cycle [aria-current=step]")
        expect(current).to_contain_text("Queued")
        expect(page.get_by_text("In the queue:")).to_be_visible()
        sender.send(nonce=nonce)
        expect(current).to_contain_text("Pre-confirmed")
        expect(stages.nth(1)).to_contain_text("step")
        chain.rpc("anvil_mine", "0x1")
        expect(current).to_contain_text("Sealed")
        expect(stages.nth(2)).to_contain_text("block")
        chain.rpc("anvil_mine", "0x2")
        expect(current).to_contain_text("Safe")
        chain.rpc("anvil_mine", "0x2")
        expect(current).to_contain_text("Finalized")
        expect(stages).to_have_count(5)


def test_replaced_and_dropped_transactions_say_so(explorer: Explorer, chain: ExplorerChain) -> None:
    sender = chain.with_account(4)
    nonce = sender.nonce() + 1
    replaced = sender.send(nonce=nonce)
    replacing = sender.send(nonce=nonce, maxFeePerGas=20 * 10**9, maxPriorityFeePerGas=2 * 10**9)
    with explorer.opened(f"/tx/{replaced}") as page:
        expect(page.get_by_text("Replaced by another transaction of the sender:")).to_be_visible()
        page.get_by_role("link", name=replacing).click()
        expect(page.get_by_text("In the queue:")).to_be_visible()
        assert chain.rpc("anvil_dropTransaction", replacing) == replacing
        expect(page.get_by_text("Dropped from the pool:")).to_be_visible()


def test_input_and_logs_are_decoded(explorer: Explorer, chain: ExplorerChain, token: str) -> None:
    receiver = DEV_ACCOUNTS[6].address
    digest = chain.included(to=token, data=call_data("transfer(address,uint256)", receiver, 250_000), gas=100_000)
    with explorer.opened(f"/tx/{digest}") as page:
        panel = page.get_by_role("tabpanel")
        expect(panel.get_by_text("transfer", exact=True)).to_be_visible()
        expect(panel.locator(".arguments")).to_contain_text("250\u202f000")
        expect(panel.locator(".arguments")).to_contain_text(receiver)
        expect(panel.get_by_text("success")).to_be_visible()
        page.get_by_role("tab", name="Logs (1)").click()
        expect(panel.get_by_text("Transfer", exact=True)).to_be_visible()
        expect(panel.locator(".arguments")).to_contain_text(chain.account.address)
        expect(panel.locator(".arguments")).to_contain_text("250\u202f000")


def test_overview_shows_token_transfers_and_gas_first(explorer: Explorer, chain: ExplorerChain) -> None:
    receiver = DEV_ACCOUNTS[6].address
    sender = chain.with_account(5)
    digest = sender.included(to=TOKEN, data=call_data("transfer(address,uint256)", receiver, 5_000_000), gas=100_000)
    with explorer.opened(f"/tx/{digest}") as page:
        facts = page.get_by_role("tabpanel").locator(".facts").first
        transfer = facts.locator(".token-transfers li")
        expect(transfer).to_have_count(1)
        for text in ("5.00", "USDC", sender.account.address[:8], receiver[:8]):
            expect(transfer).to_contain_text(text)
        labels = facts.locator("dt").all_inner_texts()
        start = labels.index("Gas used")
        assert labels[start:] == ["Gas used", "Gas limit", "Gas price", "Fee"]
        assert "Nonce" not in labels
        page.get_by_text("More details").click()
        more = page.get_by_role("tabpanel").locator("details", has_text="More details")
        for label in ("Maximum fee", "Priority fee", "Nonce", "Type"):
            expect(more.locator("dt").filter(has_text=label)).to_have_count(1)


def test_transaction_without_tokens_shows_no_transfers(explorer: Explorer, chain: ExplorerChain) -> None:
    with explorer.opened(f"/tx/{chain.included(value=3)}", phone=True) as page:
        expect(page.get_by_text("Gas used")).to_be_visible()
        expect(page.get_by_text("Token transfers")).to_have_count(0)


def test_pasted_abi_decodes_calls_logs_and_errors(explorer: Explorer, chain: ExplorerChain, board: str) -> None:
    noted = chain.included(to=board, data=call_data("set(uint256,string)", 42, "lunch"), gas=200_000)
    failed = chain.included(to=board, data=call_data("failWithCustomError(uint256)", 9), gas=200_000)
    with explorer.opened(f"/tx/{noted}") as page:
        panel = page.get_by_role("tabpanel")
        expect(panel.get_by_text("No interface has the selector")).to_be_visible()
        paste_abi(page, board, json.dumps(contract("Board").abi))
        page.goto(explorer.address(f"/tx/{noted}"))
        expect(panel.locator(".arguments")).to_contain_text("lunch")
        page.get_by_role("tab", name="Logs (1)").click()
        expect(panel.get_by_text("ValueSet")).to_be_visible()
        page.goto(explorer.address(f"/tx/{failed}?tab=trace"))
        expect(panel.get_by_text("failWithCustomError")).to_be_visible()
        panel.get_by_text("Details").click()
        expect(panel.get_by_text("Refused", exact=True)).to_be_visible()
        page.get_by_role("tab", name="Overview").click()
        expect(panel.get_by_text("reverted")).to_be_visible()


def test_trace_is_a_tree_of_calls(explorer: Explorer, chain: ExplorerChain, token: str) -> None:
    inner = bytes.fromhex(call_data("balanceOf(address)", chain.account.address)[2:])
    data = call_data("aggregate3((address,bool,bytes)[])", [(token, False, inner)] * 2)
    digest = chain.included(to=MULTICALL3, data=data, gas=500_000)
    with explorer.opened(f"/tx/{digest}?tab=trace") as page:
        root = page.locator(".frames-root > li")
        expect(root).to_have_count(1)
        expect(root.locator("> details > summary")).to_contain_text("aggregate3")
        calls = root.locator(".frames > li")
        expect(calls).to_have_count(2)
        expect(calls.first).to_contain_text("balanceOf")


def test_state_changes_show_values_before_and_after(explorer: Explorer, chain: ExplorerChain, board: str) -> None:
    before = int(chain.rpc("eth_getStorageAt", board, "0x0", "pending"), 16)
    digest = chain.included(to=board, data=call_data("set(uint256,string)", before + 1, ""), gas=200_000)
    with explorer.opened(f"/tx/{digest}?tab=state", phone=True) as page:
        rows = page.get_by_role("table", name="State changes of the transaction").locator("tbody tr")
        slot = rows.filter(has_text="slot")
        expect(slot).to_have_count(1)
        words = slot.locator("td .mono")
        expect(words.nth(1)).to_have_text(f"0x{0:064x}")
        expect(words.nth(2)).to_have_text(f"0x{before:064x}")
        expect(words.nth(3)).to_have_text(f"0x{before + 1:064x}")
        expect(slot.get_by_role("button", name=f"Copy 0x{before + 1:064x}")).to_be_visible()
        nonce = rows.filter(has_text="nonce")
        expect(nonce.locator("td").nth(3)).to_have_text(str(chain.nonce()))


def test_receipt_is_verified_in_the_browser(explorer: Explorer, chain: ExplorerChain) -> None:
    digest = chain.included(value=8)
    with explorer.opened(f"/tx/{digest}?tab=preconfirmation") as page:
        page.get_by_role("button", name="Verify in this browser").click()
        expect(page.get_by_text("The receipt is valid.")).to_be_visible()
        page.get_by_label("Expected signer").fill(DEV_ACCOUNTS[0].address)
        page.get_by_role("button", name="Verify in this browser").click()
        expect(page.get_by_role("alert")).to_contain_text("signer")
        expect(page.get_by_text("The receipt is valid.")).not_to_be_visible()


def _flip(text: str) -> str:
    """Return hex text whose last bit differs."""
    return text[:-1] + f"{int(text[-1], 16) ^ 1:x}"


@pytest.mark.parametrize("field", ["signature", "hash", "transaction", "header"])
def test_altered_receipt_is_rejected(explorer: Explorer, chain: ExplorerChain, field: str) -> None:
    digest = chain.included(value=8)

    def alter(answer: dict[str, Any]) -> dict[str, Any]:
        receipt = answer["result"]
        return answer | {"result": receipt | {field: _flip(receipt[field])}}

    with explorer.opened("/status") as page:
        alter_answers(page, "foreseal_preconfirmation", alter)
        page.goto(explorer.address(f"/tx/{digest}?tab=preconfirmation"))
        page.get_by_role("button", name="Verify in this browser").click()
        expect(page.get_by_role("alert")).not_to_be_empty()
        expect(page.get_by_text("The receipt is valid.")).not_to_be_visible()


def test_malformed_hash_is_explained(explorer: Explorer) -> None:
    with explorer.opened("/tx/0x12") as page:
        expect(page.get_by_role("alert")).to_contain_text("0x12 is not the hash of a transaction")
