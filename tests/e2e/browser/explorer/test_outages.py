"""Failures of the node: a restart, errors of calls, limits, and networks without WebSockets."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import WebSocketRoute, expect

from browser import Chromium
from browser.explorer import Explorer, ExplorerChain, wait_on
from browser.rpc_interception import fail_answers
from foreseal.ports import next_free_port
from live import DEV_ACCOUNTS, LiveNode, live_node
from live.process import foreseal_command, stopping

# A node whose block stays pending during every flow, so that its transactions stay on the home page.
OPTIONS = ("--step", "200ms", "--block-time", "600s")
# A node that does not answer, or rejects a call, is an error in the console of the browser.
REFUSED = ("Failed to load resource", "WebSocket connection", "ERR_")


@pytest.fixture(scope="module")
def node(chromium: Chromium) -> Iterator[LiveNode]:
    """Run a development node that seals no block in the meantime."""
    with live_node(*OPTIONS) as node:
        yield node


def test_page_continues_after_a_restart_of_the_node(chromium: Chromium, tmp_path: Path) -> None:
    options = ["dev", "--port", str(next_free_port()), "--datadir", str(tmp_path), *OPTIONS]
    explorer: Explorer
    with stopping(LiveNode([foreseal_command(), *options])) as node:
        explorer = Explorer(chromium, node.url)
        with explorer.opened("", allow=REFUSED) as page:
            status = page.locator(".connection [role=status]")
            expect(status).to_have_text("Live")
            before = int(page.locator(".pending h1 .number").inner_text())
            assert node.stop() == 0
            expect(status).to_have_text("Reconnecting")
            with stopping(LiveNode([foreseal_command(), *options])) as again:
                expect(status).to_have_text("Live")
                digest = ExplorerChain(again).included(value=1)
                expect(page.locator(f'.pending a[href$="{digest}"]')).to_be_visible()
                assert int(page.locator(".pending h1 .number").inner_text()) >= before


def test_stream_that_worked_is_used_again_after_three_lost_connections(
    explorer: Explorer, chain: ExplorerChain
) -> None:
    sockets: list[WebSocketRoute] = []

    def accept_all_but_two(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        if len(sockets) in (2, 3):
            socket.close()
        else:
            socket.connect_to_server()

    with explorer.opened("/search", allow=REFUSED) as page:
        page.route_web_socket(lambda _: True, accept_all_but_two)
        page.goto(explorer.address("/status"))
        status = page.locator(".connection [role=status]")
        expect(status).to_have_text("Live")
        sockets[0].close()
        wait_on(page, lambda: len(sockets) >= 4)
        expect(status).to_have_text("Live")
        digest = chain.included(value=1)
        page.get_by_role("link", name="Live", exact=True).click()
        expect(page.locator(f'a[href$="{digest}"]').first).to_be_visible()


def test_charts_are_drawn_once_the_node_serves_their_program(explorer: Explorer) -> None:
    with explorer.opened("/status", allow=REFUSED) as page:
        page.route("**/uplot.js", lambda route: route.abort())
        with page.expect_event("requestfailed"):
            page.get_by_role("link", name="Live").click()
        page.unroute_all(behavior="wait")
        expect(page.locator(".chart canvas")).to_have_count(4)


@pytest.mark.parametrize(
    ("code", "message", "sentence"),
    [
        (-32001, "the state of block 3 is pruned", "The node does not have this: the state of block 3 is pruned"),
        (-32004, "method rejected on the public endpoint", "The node does not allow this call: method rejected"),
        (-32601, "the method does not exist", "The node does not serve this method: the method does not exist"),
        (-32603, "internal <b>error</b>", "The node returned an error: internal <b>error</b>"),
    ],
)
def test_errors_of_calls_are_sentences(explorer: Explorer, code: int, message: str, sentence: str) -> None:
    with explorer.opened("/status") as page:
        fail_answers(page, "eth_getBalance", code, message)
        page.goto(explorer.address(f"/address/{DEV_ACCOUNTS[0].address}?block=0"))
        expect(page.get_by_role("alert").first).to_contain_text(sentence)


def test_trace_that_is_too_large_is_explained(explorer: Explorer, chain: ExplorerChain) -> None:
    digest = chain.included(value=1)
    with explorer.opened("/status") as page:
        data = {"limit": "trace_bytes", "max": 8}
        fail_answers(page, "debug_traceTransaction", -32005, "the trace exceeds 8 bytes", data)
        page.goto(explorer.address(f"/tx/{digest}?tab=trace"))
        expect(page.get_by_role("alert")).to_contain_text("A limit of the node is exceeded: the trace exceeds 8 bytes")


def test_answer_that_is_not_json_is_explained(explorer: Explorer) -> None:
    with explorer.opened("/search", allow=REFUSED) as page:
        page.route(
            lambda url: url.endswith("/"),
            lambda route: (
                route.fulfill(status=502, body="<html>Bad gateway</html>") if _is_post(route) else route.continue_()
            ),
        )
        page.goto(explorer.address("/status"))
        expect(page.get_by_role("alert")).to_contain_text("The node did not answer: the response has HTTP status 502")
        # The reader's next step works once the node answers again: it does from the click on, so that no reload of the
        # page itself comes first.
        page.evaluate(_FAIL_UNTIL_CLICK)
        page.unroute_all(behavior="wait")
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_text("healthy")).to_be_visible()


_FAIL_UNTIL_CLICK = """() => {
  const { fetch } = window;
  let clicked = false;
  addEventListener('click', () => { clicked = true; }, true);
  window.fetch = (...all) =>
    clicked ? fetch(...all) : Promise.resolve(new Response('<html>Bad gateway</html>', { status: 502 }));
}"""


def _is_post(route: object) -> bool:
    return str(route.request.method) == "POST"  # type: ignore[attr-defined]


def test_rate_limit_is_a_sentence_and_the_page_waits(chromium: Chromium) -> None:
    with live_node("--public", "--public-rate", "10/m", "--step", "200ms", values={"access.public_burst": 4}) as node:
        explorer = Explorer(chromium, node.url)
        with explorer.opened("/status", allow=REFUSED) as page:
            calls: list[str] = []
            page.on("request", lambda request: calls.append(request.url) if request.method == "POST" else None)
            expect(page.get_by_role("alert").first).to_contain_text(
                "The node limits how often this address may call it."
            )
            # Without waiting, a page that reads every second would send dozens of requests in this time.
            page.wait_for_timeout(5_000)
            assert 0 < len(calls) < 25
