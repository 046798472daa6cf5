"""N10, N11: pages of the explorer next to blocks of 20 transactions with 41,700 logs each."""

import re
import time
from dataclasses import dataclass

from playwright.sync_api import Page, Response, expect

from browser.chromium import running_chromium
from hostile.chain_data import GENERATORS
from hostile.findings.finding import Bench
from hostile.findings.probe import Probe
from hostile.findings.results import patient, submit_burst, wait_for_burst
from live.process import LiveNode

_LIVE_TIME, _ROWS_TIME, _ADDRESS_TIME = 40.0, 30.0, 12.0
_BEHIND = 5
"""Blocks by which a page may be behind the chain."""
_DELAY_BOUND = 50.0
_CALLS_BOUND, _BYTES_BOUND = 60, 16 * 1024 * 1024
_CALM = 4.0
_TRANSFERS = "logs-transfers"
_LOGGED = 60
"""Transactions that fill two blocks at least."""
_OPTIONS = ("--explorer",)


@dataclass
class Traffic:
    """Calls of a page and the bytes of their responses."""

    calls: int = 0
    received: int = 0

    def watch(self, page: Page) -> None:
        """Count the responses of a page from now on."""
        page.on("response", self._add)

    def _add(self, response: Response) -> None:
        if response.request.method == "POST":
            self.calls += 1
            self.received += int(response.headers.get("content-length", 0))


def live_page(bench: Bench) -> None:
    """N10: a burst while one reader has the Live page open."""
    with running_chromium() as chromium, bench.node(*_OPTIONS) as (_, node), chromium.page() as opened:
        page = opened.page
        page.goto(f"{node.url}/explorer")
        status = page.locator(".connection [role=status]")
        expect(status).to_have_text(re.compile("^Live"))
        with Probe(node.url, "eth_getStorageAt", "0x" + "00" * 20, "0x0", "latest") as probe:
            _wait(page, _CALM)
            calm = probe.restart()
            submit_burst(node.rpc)
            behind = _watch(page, node)
            busy = probe.restart()
        text = status.inner_text()
        measured = f"{behind} blocks behind after {_LIVE_TIME:.0f} s, {text!r}; storage p99 of another caller "
        measured += f"{calm:.0f} -> {busy:.0f} ms"
        is_open = behind > _BEHIND or not text.startswith("Live") or busy - calm > _DELAY_BOUND
        bench.add("N10", "Live page", measured, is_open=is_open)


def _watch(page: Page, node: LiveNode) -> int:
    """Return the blocks by which the page is behind the chain in the end."""
    _wait(page, _LIVE_TIME)
    shown = re.sub(r"\D", "", page.locator(".connection .number").inner_text().partition(".")[0])
    return int(patient(node.rpc, "eth_blockNumber"), 16) + 1 - int(shown or 0)


def _wait(page: Page, seconds: float) -> None:
    page.wait_for_timeout(seconds * 1000)


def logs_page(bench: Bench) -> None:
    """N11: the Logs page and the page of an address over two such blocks."""
    address = "0x" + GENERATORS[_TRANSFERS].address.hex()
    with running_chromium() as chromium, bench.node(*_OPTIONS) as (_, node):
        submit_burst(node.rpc, _LOGGED)
        newest = wait_for_burst(node, _LOGGED)
        fullest = max(range(1, newest + 1), key=lambda number: _gas_used(node, number))
        with chromium.page() as opened:
            traffic = Traffic()
            traffic.watch(opened.page)
            begin = time.monotonic()
            opened.page.goto(f"{node.url}/explorer/logs?from={fullest - 1}&to={fullest}&order=newest")
            rows = _rows(opened.page, begin)
            seconds = time.monotonic() - begin
            can_stop = opened.page.get_by_role("button", name=re.compile("stop", re.IGNORECASE)).count() > 0
            measured = f"{rows} rows after {seconds:.0f} s, {traffic.calls} calls, {traffic.received >> 20} MiB"
            measured += ", with a button to stop" if can_stop else ""
            bench.add("N11", "Logs page, newest first", measured, is_open=rows == 0)
        submit_burst(node.rpc, _LOGGED, _TRANSFERS)
        wait_for_burst(node, 2 * _LOGGED)
        with chromium.page() as opened:
            traffic = Traffic()
            traffic.watch(opened.page)
            opened.page.goto(f"{node.url}/explorer/address/{address}")
            _wait(opened.page, _ADDRESS_TIME)
            measured = f"{traffic.calls} calls, {traffic.received >> 20} MiB in {_ADDRESS_TIME:.0f} s"
            is_open = traffic.calls > _CALLS_BOUND or traffic.received > _BYTES_BOUND
            bench.add("N11", "page of an account with many transfers", measured, is_open=is_open)


def _gas_used(node: LiveNode, number: int) -> int:
    return int(patient(node.rpc, "eth_getBlockByNumber", hex(number), False)["gasUsed"], 16)


def _rows(page: Page, begin: float) -> int:
    """Return the number of rows once there are some, or 0 after a while."""
    while time.monotonic() - begin < _ROWS_TIME:
        rows = page.locator(".log-position").count()
        if rows:
            return rows
        _wait(page, 0.25)
    return 0
