"""Steps, blocks and receipts with many logs: pages show rows, stay live, and read a bounded number of bytes."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, Request, Route, WebSocketRoute, expect

from browser.explorer import Explorer, ExplorerChain, wait_on
from browser.rpc_interception import fail_answers

# Emits empty logs while more than 65,535 gas is left.
_LOGGER = "5b5f5fa061ffff5a115f5700"
# Returns the rest of the creation code as the code of the contract.
_CREATION = "0x600c8060095f395ff3" + _LOGGER
_GAS = 1_500_000
_MIN_LOGS = 2_000
_PAGE = 25
# Characters of a notification that the connection of a test may hold.
_MAX_NOTIFICATION = 100_000
_REFUSED = ("WebSocket connection", "ERR_")


@pytest.fixture(scope="module")
def logger(chain: ExplorerChain) -> str:
    """Deploy a contract that emits thousands of logs."""
    return chain.deploy_code(_CREATION)


@pytest.fixture(scope="module")
def large(chain: ExplorerChain, logger: str) -> str:
    """Return the hash of a transaction with thousands of logs, in a sealed block."""
    digest = chain.included(to=logger, gas=_GAS)
    logs: Any = chain.receipt(digest)["logs"]
    assert len(logs) > _MIN_LOGS
    chain.wait_for_status(digest, "sealed")
    return digest


class Traffic:
    """Counts the calls of a page by method, and the bytes that it receives."""

    def __init__(self, page: Page) -> None:
        self.calls: list[str] = []
        self.bytes = 0
        page.on("requestfinished", self._finished)

    def _finished(self, request: Request) -> None:
        if request.method != "POST" or request.post_data is None:
            return
        sent = json.loads(request.post_data)
        self.calls += [call["method"] for call in (sent if isinstance(sent, list) else [sent])]
        self.bytes += request.sizes()["responseBodySize"]


def test_logs_of_a_large_block_come_in_pages(explorer: Explorer, logger: str, large: str) -> None:
    with explorer.opened("/status") as page:
        traffic = Traffic(page)
        page.goto(explorer.address(f"/logs?address={logger}"))
        logs = page.locator(".log")
        expect(logs).to_have_count(_PAGE)
        for pages in (2, 3, 4):
            page.get_by_role("button", name="Older logs").click()
            expect(logs).to_have_count(pages * _PAGE)
        assert traffic.calls.count("foreseal_getLogs") <= 20
        assert traffic.bytes < 1_000_000


def test_search_can_be_stopped_and_continued(explorer: Explorer, logger: str, large: str) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        if "foreseal_getLogs" in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    with explorer.opened("/status") as page:
        page.route(lambda url: url.endswith("/"), hold)
        page.goto(explorer.address(f"/logs?address={logger}"))
        wait_on(page, lambda: bool(held))
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_text("The search is paused")).to_be_visible()
        page.unroute_all(behavior="ignoreErrors")
        page.get_by_role("button", name="Continue").click()
        expect(page.locator(".log")).to_have_count(_PAGE)


def test_transaction_with_many_logs_shows_pages_of_them(explorer: Explorer, large: str) -> None:
    with explorer.opened(f"/tx/{large}?tab=logs") as page:
        logs = page.locator(".log")
        expect(logs).to_have_count(50)
        page.get_by_role("button", name=re.compile("Show more")).click()
        expect(logs).to_have_count(100)


def test_receipt_above_the_limit_of_the_node_leaves_pages_of_logs(
    explorer: Explorer, chain: ExplorerChain, logger: str
) -> None:
    # With this limit of gas, the page does not expect a small receipt.
    digest = chain.included(to=logger, gas=5_000_000)
    chain.wait_for_status(digest, "sealed")
    with explorer.opened("/status") as page:
        fail_answers(page, "eth_getTransactionReceipt", -32005, "the receipt exceeds 100 bytes")
        page.goto(explorer.address(f"/tx/{digest}"))
        expect(page.get_by_text("The receipt is too large: the receipt exceeds 100 bytes")).to_be_visible()
        page.get_by_role("tab", name="Logs").click()
        expect(page.locator(".log")).to_have_count(50)


def test_live_page_stays_at_the_newest_block_when_a_step_never_arrives(
    explorer: Explorer, chain: ExplorerChain, logger: str
) -> None:
    sockets: list[WebSocketRoute] = []
    closed: list[WebSocketRoute] = []

    def close_at_a_large_step(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        server = socket.connect_to_server()

        def deliver(message: str | bytes) -> None:
            if socket in closed:
                return
            if len(message) > _MAX_NOTIFICATION:
                closed.append(socket)
                socket.close(code=1013, reason="the message exceeds the limit")
            else:
                socket.send(message)

        server.on_message(deliver)

    with explorer.opened("/status", allow=_REFUSED) as page:
        page.route_web_socket(lambda _: True, close_at_a_large_step)
        page.goto(explorer.address("/"))
        status = page.locator(".connection [role=status]")
        expect(status).to_have_text("Live")
        digest = chain.included(to=logger, gas=_GAS)
        wait_on(page, lambda: len(closed) >= 2)
        expect(status).to_have_text(re.compile("Live"))
        chain.wait_for_status(digest, "sealed")
        number = int(str(chain.rpc("eth_blockNumber")), 16)
        wait_on(page, lambda: _pending(page) >= number)
        # The feed works again from the newest step, without more attempts at the step that does not arrive.
        expect(status).to_have_text("Live", timeout=30_000)
        assert len(closed) == 2


def _pending(page: Page) -> int:
    """Return the number of the block under construction that the page shows."""
    return int(page.locator(".pending h1 .number").inner_text().replace("\u202f", ""))


def test_transfers_of_an_account_end_with_a_large_block(explorer: Explorer, logger: str, large: str) -> None:
    with explorer.opened("/status") as page:
        traffic = Traffic(page)
        page.goto(explorer.address(f"/address/{logger}"))
        expect(page.get_by_text("No token transfers.")).to_be_visible()
        assert traffic.calls.count("foreseal_getLogs") <= 20
