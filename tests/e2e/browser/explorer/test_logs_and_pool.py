"""Log search with pages, and the pool with its replacements."""

import re

import pytest
from playwright.sync_api import Page, WebSocket, expect

from browser.explorer import Explorer, ExplorerChain, call_data, wait_on
from live import DEV_ACCOUNTS
from live.contracts import contract

_LOGS = 60
_PAGE = 25


@pytest.fixture(scope="module")
def board(chain: ExplorerChain) -> str:
    """Deploy a contract that has emitted `_LOGS` logs."""
    address = chain.deploy(contract("Board"), 0)
    nonce = chain.nonce()
    for value in range(_LOGS):
        digest = chain.send(
            nonce=nonce + value, to=address, data=call_data("set(uint256,string)", value, ""), gas=200_000
        )
    chain.wait_for_status(digest, "sealed")
    return address


def test_oldest_logs_come_by_cursor(explorer: Explorer, board: str) -> None:
    with explorer.opened("/logs") as page:
        page.get_by_label("Contract").fill(board)
        page.get_by_label("Event").fill("ValueSet(address,uint256,uint256,string)")
        page.get_by_label("Order").select_option("oldest")
        page.get_by_role("button", name="Search", exact=True).click()
        logs = page.locator(".log")
        expect(logs).to_have_count(_PAGE)
        page.get_by_role("button", name="Next page").click()
        expect(logs).to_have_count(2 * _PAGE)
        page.get_by_role("button", name="Next page").click()
        expect(logs).to_have_count(_LOGS)
        topics = logs.locator("dd .mono").all_inner_texts()
        values = [int(topic, 16) for topic in topics if re.fullmatch("0x0{60}[0-9a-f]{4}", topic)]
        assert values == list(range(_LOGS))
        # A reload of the address shows the same search.
        page.reload()
        expect(logs).to_have_count(_PAGE)
        expect(page.get_by_label("Contract")).to_have_value(board)


def test_newest_logs_come_first_and_topics_select(explorer: Explorer, board: str) -> None:
    with explorer.opened(f"/logs?address={board}") as page:
        logs = page.locator(".log")
        expect(logs).to_have_count(_PAGE)
        expect(logs.first).to_contain_text(f"{_LOGS - 1:064x}")
        page.get_by_role("button", name="Older logs").click()
        expect(logs).to_have_count(2 * _PAGE)
        page.get_by_label("Topic 2").fill("17")
        page.get_by_role("button", name="Search", exact=True).click()
        expect(logs).to_have_count(1)
        expect(logs).to_contain_text(f"{17:064x}")
        page.get_by_label("Topic 2").fill("what")
        page.get_by_role("button", name="Search", exact=True).click()
        expect(page.get_by_text("Write 32 bytes of hex, an address or a whole number.")).to_be_visible()


def watch_subscriptions(page: Page, kind: str) -> list[str]:
    """Return a list that grows with each answer on a WebSocket after the page asked for this subscription."""
    answers: list[str] = []

    def watch(socket: WebSocket) -> None:
        def sent(text: str | bytes) -> None:
            if kind in str(text):
                socket.on("framereceived", lambda answer: answers.append(str(answer)))

        socket.on("framesent", sent)

    page.on("websocket", watch)
    return answers


def test_pool_lists_senders_and_replacements(explorer: Explorer, chain: ExplorerChain) -> None:
    sender = chain.with_account(12)
    address = DEV_ACCOUNTS[12].address
    with explorer.opened("/status") as page:
        subscribed = watch_subscriptions(page, "newPendingTransactions")
        page.get_by_role("link", name="Pool").click()
        expect(page.get_by_text("The pool is empty.")).to_be_visible()
        wait_on(page, lambda: bool(subscribed))
        nonce = sender.nonce() + 1
        replaced = sender.send(nonce=nonce)
        waiting = page.locator("details.function", has_text=f"{address[:8]}")
        expect(waiting).to_contain_text("0 executable, 1 queued")
        waiting.locator("summary").click()
        expect(waiting.locator("tbody tr")).to_contain_text("queued")
        replacing = sender.send(nonce=nonce, maxFeePerGas=20 * 10**9, maxPriorityFeePerGas=2 * 10**9)
        table = page.get_by_role("table", name="Replacements")
        expect(table.locator("tbody tr")).to_have_count(1)
        expect(table.locator(f'a[href$="{replaced}"]')).to_be_visible()
        expect(table.locator(f'a[href$="{replacing}"]')).to_be_visible()
        expect(table.locator("tbody tr")).to_contain_text("20 gwei")
        page.get_by_label("Sender").fill(address)
        sender_table = page.get_by_role("table", name="Transactions of the sender")
        expect(sender_table.locator(f'a[href$="{replacing}"]')).to_be_visible()
        sender.send(nonce=nonce - 1)
        expect(page.get_by_text("The pool is empty.")).to_be_visible()
