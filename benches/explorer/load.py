"""Delays of an honest client while many home pages of the explorer are open, interleaved with the same without them."""

import argparse
import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import quantiles
from typing import Any

import aiohttp
import orjson
from benches.explorer.content import ExplorerContent, send_content
from benches.explorer.viewer import RecordedSession, Viewer, record_session
from benches.result_file import save

from browser.explorer import ExplorerChain, call_data
from foreseal.bench.provenance import read_provenance
from live import DEV_ACCOUNTS, LiveNode, live_node
from live.sending import signed

PACKAGES = ("aiohttp", "orjson", "playwright")
VIEWERS, ROUNDS, SECONDS = 200, 3, 20.0
SHORT_ROUNDS, SHORT_SECONDS = 1, 3.0
# Time between two calls of the honest client, and between two transactions.
_CALL_INTERVAL, _SEND_INTERVAL = 0.01, 0.1
_OPEN_TIMEOUT = 120.0
_CALLER = 5
# Connections of one browser to one host, and addresses in a network.
_CONNECTIONS, _ADDRESSES = 8, 250


class HonestClient:
    """Calls a contract and sends transactions at a steady rate."""

    def __init__(self, http: aiohttp.ClientSession, node: LiveNode, content: ExplorerContent) -> None:
        self._http, self._node, self._content = http, node, content
        self._nonce = ExplorerChain(node, _CALLER).nonce()

    async def measure(self, seconds: float) -> dict[str, list[float]]:
        """Return the delays of calls and of transactions until their receipt, in milliseconds."""
        end = time.perf_counter() + seconds
        calls, sends = await asyncio.gather(self._calls(end), self._sends(end))
        return {"eth_call": calls, "send_to_receipt": sends}

    async def _calls(self, end: float) -> list[float]:
        data = call_data("balanceOf(address)", self._content.holder)
        delays = []
        while time.perf_counter() < end:
            delays.append(await self._timed("eth_call", {"to": self._content.token, "data": data}, "pending"))
            await asyncio.sleep(_CALL_INTERVAL)
        return delays

    async def _sends(self, end: float) -> list[float]:
        delays = []
        while time.perf_counter() < end:
            raw = signed(DEV_ACCOUNTS[_CALLER], self._nonce, value=1)
            self._nonce += 1
            delays.append(await self._timed("eth_sendRawTransactionSync", raw))
            await asyncio.sleep(_SEND_INTERVAL)
        return delays

    async def _timed(self, method: str, *params: Any) -> float:
        body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        began = time.perf_counter()
        async with self._http.post(self._node.url, data=body, headers={"content-type": "application/json"}) as response:
            answer = orjson.loads(await response.read())
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return 1000 * (time.perf_counter() - began)


def _address(viewer: int) -> str:
    """Return a loopback address of a viewer: limits of the node apply to each address."""
    return f"127.0.{1 + viewer // _ADDRESSES}.{1 + viewer % _ADDRESSES}"


@contextlib.asynccontextmanager
async def open_viewers(url: str, session: RecordedSession, count: int) -> AsyncIterator[list[Viewer]]:
    """Open pages, each at an address of its own, wait until all are subscribed, and close them at the end."""
    async with contextlib.AsyncExitStack() as stack:
        viewers = []
        for number in range(count):
            connector = aiohttp.TCPConnector(limit=_CONNECTIONS, local_addr=(_address(number), 0))
            http = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
            viewers.append(Viewer(http, url, session))
        events = [asyncio.Event() for _ in viewers]
        tasks = [asyncio.create_task(viewer.watch(event)) for viewer, event in zip(viewers, events, strict=True)]
        try:
            waiting = asyncio.gather(*(event.wait() for event in events))
            await asyncio.wait([waiting, *tasks], timeout=_OPEN_TIMEOUT, return_when=asyncio.FIRST_COMPLETED)
            if not all(event.is_set() for event in events):
                waiting.cancel()
                failures = [task.exception() for task in tasks if task.done() and not task.cancelled()]
                raise RuntimeError("not all viewers could subscribe") from next(iter(failures), None)
            yield viewers
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def summary(delays: list[float]) -> dict[str, float]:
    """Return count, median and 99th percentile."""
    cuts = quantiles(delays, n=100)
    return {"count": len(delays), "p50_ms": round(cuts[49], 2), "p99_ms": round(cuts[98], 2)}


async def compare(
    node: LiveNode, viewers: int, rounds: int, seconds: float, session: RecordedSession
) -> dict[str, Any]:
    """Measure without and with viewers in turn. Raises RuntimeError."""
    content = send_content(node)
    delays: dict[str, dict[str, list[float]]] = {"without_viewers": {}, "with_viewers": {}}
    messages = 0
    async with aiohttp.ClientSession() as http:
        client = HonestClient(http, node, content)
        for _ in range(rounds):
            _add(delays["without_viewers"], await client.measure(seconds))
            async with open_viewers(node.url, session, viewers) as opened:
                _add(delays["with_viewers"], await client.measure(seconds))
                messages += sum(viewer.messages for viewer in opened)
    report = {
        case: {name: summary(one) for name, one in delays_by_name.items()} for case, delays_by_name in delays.items()
    }
    return report | {"messages_delivered": messages}


def _add(totals: dict[str, list[float]], round_delays: dict[str, list[float]]) -> None:
    for name, one in round_delays.items():
        totals.setdefault(name, []).extend(one)


def main() -> int:
    """Record a session, measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--viewers", type=int, default=VIEWERS, help="open home pages")
    parser.add_argument("--short", action="store_true", help="one short round")
    parser.add_argument("--save", type=Path, help="file for the figures")
    given = parser.parse_args()
    rounds, seconds = (SHORT_ROUNDS, SHORT_SECONDS) if given.short else (ROUNDS, SECONDS)
    with live_node("--step", "200ms") as node:
        session = record_session(node.url)
        figures = asyncio.run(compare(node, given.viewers, rounds, seconds, session))
    for case, times in figures.items():
        print(f"{case}: {times}", flush=True)
    if given.save:
        command = f"python -m benches.explorer.load --viewers {given.viewers}" + (" --short" if given.short else "")
        settings = {"viewers": given.viewers, "rounds": rounds, "seconds": seconds}
        save(read_provenance(command, PACKAGES) | settings | figures, given.save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
