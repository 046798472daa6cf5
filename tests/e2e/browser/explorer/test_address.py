"""Address pages: account, tokens, storage, and the forms of a contract."""

import json

import pytest
from playwright.sync_api import expect

from browser.explorer import Explorer, ExplorerChain, call_data
from browser.page_wallet import announce_wallet, reject_requests
from live import DEV_ACCOUNTS
from live.contracts import contract
from live.sending import CHAIN_ID

OTHER_CHAIN = 10


@pytest.fixture(scope="module")
def board(chain: ExplorerChain) -> str:
    """Deploy a contract whose first slot is 7."""
    return chain.deploy(contract("Board"), 7)


def test_account_shows_balance_nonce_transfers_and_tokens(explorer: Explorer, chain: ExplorerChain, token: str) -> None:
    holder = DEV_ACCOUNTS[7].address
    for amount in (1_000_000, 2_500_000):
        chain.included(to=token, data=call_data("transfer(address,uint256)", holder, amount), gas=100_000)
    with explorer.opened(f"/address/{holder}") as page:
        expect(page.locator(".facts", has_text="Balance")).to_contain_text("10\u202f000 ETH")
        rows = page.get_by_role("table", name="Token transfers").locator("tbody tr")
        expect(rows).to_have_count(2)
        expect(rows.first).to_contain_text("2.5")
        expect(rows.first).to_contain_text("TUSD")
        expect(rows.first).to_contain_text("in")
        expect(rows.first).to_contain_text("ERC-20")
        page.get_by_role("tab", name="Tokens", exact=True).click()
        held = page.get_by_role("table", name="ERC-20 tokens").locator("tbody tr")
        expect(held).to_have_count(1)
        expect(held).to_contain_text("Test Dollar")
        expect(held).to_contain_text("3.5")
        # An open page follows the account.
        chain.included(to=holder, value=10**18)
        expect(page.locator(".facts", has_text="Balance")).to_contain_text("10\u202f001 ETH")


def test_state_of_an_older_block_is_shown(explorer: Explorer, chain: ExplorerChain) -> None:
    holder = DEV_ACCOUNTS[8].address
    digest = chain.included(to=holder, value=10**18)
    chain.wait_for_status(digest, "sealed")
    number = int(str(chain.receipt(digest)["blockNumber"]), 16)
    with explorer.opened(f"/address/{holder}?block={number - 1}") as page:
        panel = page.locator(".panel", has=page.get_by_role("heading", name=f"State at block {number - 1}"))
        expect(panel).to_contain_text("10\u202f000 ETH")
        page.get_by_role("button", name="Newest").click()
        expect(page.locator(".facts", has_text="Balance")).to_contain_text("10\u202f001 ETH")


def test_code_and_storage_of_a_contract(explorer: Explorer, chain: ExplorerChain, board: str) -> None:
    code = chain.rpc("eth_getCode", board, "pending")
    with explorer.opened(f"/address/{board}") as page:
        expect(page.get_by_role("heading", level=1)).to_contain_text("contract")
        page.get_by_role("tab", name="Code").click()
        expect(page.get_by_role("region", name="code")).to_have_text(code)
        page.get_by_role("tab", name="Storage").click()
        expect(page.get_by_role("tabpanel")).to_contain_text(f"0x{7:064x}")
        page.get_by_label("Storage position").fill("no slot")
        expect(page.get_by_text("A decimal number, a quantity in hex, or 32 bytes.")).to_be_visible()


def test_contract_is_read_by_the_interface_that_fits(explorer: Explorer, chain: ExplorerChain, token: str) -> None:
    with explorer.opened(f"/address/{token}?tab=contract") as page:
        expect(page.get_by_label("Interface").locator("option:checked")).to_have_text("ERC-20 (fits)")
        function = page.locator("details.function", has_text="balanceOf")
        function.locator("summary").click()
        function.get_by_label("account").fill(DEV_ACCOUNTS[9].address)
        function.get_by_role("button", name="Read").click()
        expect(function.locator(".arguments")).to_contain_text("0")
        function.get_by_label("account").fill("0x12")
        function.get_by_role("button", name="Read").click()
        expect(function.get_by_role("alert")).to_contain_text("account")


def test_simulation_reports_the_reason_of_a_revert(explorer: Explorer, chain: ExplorerChain, board: str) -> None:
    with explorer.opened(f"/address/{board}?tab=contract") as page:
        page.get_by_text("Use another ABI").click()
        page.get_by_label("ABI").fill("this is no ABI (")
        page.get_by_role("button", name="Use this ABI").click()
        expect(page.get_by_role("alert")).not_to_be_empty()
        page.get_by_label("ABI").fill(json.dumps(contract("Board").abi))
        page.get_by_role("button", name="Use this ABI").click()
        function = page.locator("details.function", has_text="failWithReason")
        function.locator("summary").click()
        function.get_by_role("button", name="Simulate").click()
        expect(function.get_by_role("alert")).to_contain_text("the board is closed")


def test_wallet_writes_to_a_contract(explorer: Explorer, chain: ExplorerChain, token: str) -> None:
    owner, receiver = DEV_ACCOUNTS[10], DEV_ACCOUNTS[11].address
    chain.included(to=token, data=call_data("transfer(address,uint256)", owner.address, 1_000), gas=100_000)
    with explorer.opened(f"/address/{token}?tab=contract") as page:
        expect(page.get_by_text("install a browser wallet")).to_be_visible()
        # The wallet is on another network and has no node of this chain yet.
        announce_wallet(page, owner, OTHER_CHAIN, {OTHER_CHAIN: explorer.url})
        connect = page.get_by_role("button", name="Connect Test wallet")
        reject_requests(page, True)
        connect.click()
        expect(page.get_by_role("alert")).to_contain_text("You rejected the request in the wallet.")
        reject_requests(page, False)
        connect.click()
        expect(page.get_by_text("Connected as")).to_be_visible()
        function = page.locator("details.function").filter(has=page.locator("summary", has_text="transfer")).first
        function.locator("summary").click()
        function.get_by_label("to").fill(receiver)
        function.get_by_label("value").fill("400")
        send = function.get_by_role("button", name="Send from the wallet")
        reject_requests(page, True)
        send.click()
        expect(function.get_by_role("alert")).to_contain_text("You rejected the request in the wallet.")
        reject_requests(page, False)
        send.click()
        expect(function.get_by_text("Sent")).to_be_visible()
        assert page.evaluate("window.testWallet.request({method: 'eth_chainId'})") == hex(CHAIN_ID)
        function.locator(".notice a").click()
        expect(page.locator(".life-cycle li", has_text="Sealed")).to_have_attribute("data-reached", "true")
    balance = chain.rpc("eth_call", {"to": token, "data": call_data("balanceOf(address)", receiver)}, "latest")
    assert int(balance, 16) == 400


def test_malformed_address_is_explained(explorer: Explorer) -> None:
    with explorer.opened("/address/0x5FbDB2315678afecb367f032d93F642f64180aa4") as page:
        expect(page.get_by_role("alert")).to_contain_text("is not valid")
