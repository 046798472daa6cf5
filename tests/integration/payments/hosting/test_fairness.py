"""Requests of one merchant that wait, for its node or its database, leave the others their threads and connections."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from foreseal.payments.api.request_threads import MAX_REQUEST_THREADS, RequestThreads
from payments.api.service_harness import ServiceHarness
from payments.hosting import HostedMerchants
from payments.shop import BUYER

SECONDS = 30.0

Request = Callable[[httpx.AsyncClient, str, str], Awaitable[httpx.Response]]


class HungNode:
    """Makes calls to the node of a service wait until they are released."""

    def __init__(self, service: ServiceHarness, threads: int) -> None:
        self._expected = threads
        self.released = threading.Event()
        self.threads: set[int] = set()
        self.enough = threading.Event()
        """Set once all expected threads of the merchant wait."""
        service.node.hook = self._wait

    def _wait(self, method: str) -> None:
        self.threads.add(threading.get_ident())
        if len(self.threads) == self._expected:
            self.enough.set()
        assert self.released.wait(SECONDS)


def client(hosted: HostedMerchants, service: ServiceHarness) -> httpx.AsyncClient:
    headers = {"authorization": f"Bearer {service.keys['admin']}"}  # type: ignore[index]
    transport = httpx.ASGITransport(hosted.app)
    return httpx.AsyncClient(transport=transport, base_url="http://pay.test", headers=headers, timeout=SECONDS)


async def order(client: httpx.AsyncClient, merchant: str, id: str) -> httpx.Response:
    body = {"id": id, "payer": BUYER.address, "amount": "5"}
    return await client.post(f"/{merchant}/v1/orders", json=body, headers={"idempotency-key": id})


async def payout(client: httpx.AsyncClient, merchant: str, id: str) -> httpx.Response:
    body = {"recipients": [{"recipient": BUYER.address, "amount": "5"}]}
    return await client.post(f"/{merchant}/v1/payouts", json=body, headers={"idempotency-key": id})


@pytest.mark.sqlite_only
@pytest.mark.parametrize(("request_", "threads"), [(payout, MAX_REQUEST_THREADS), (order, 1)], ids=["payout", "order"])
def test_hung_node_of_one_merchant_leaves_threads_and_connections_to_others(
    books: ServiceHarness, games: ServiceHarness, request_: Request, threads: int
) -> None:
    waiting = 10
    hosted = HostedMerchants({"books": books, "games": games}, max_requests=MAX_REQUEST_THREADS + waiting)
    hung = HungNode(books, threads)

    async def run() -> None:
        async with client(hosted, books) as shop, client(hosted, games) as other:
            sent = MAX_REQUEST_THREADS + 2 * waiting
            tasks = [asyncio.create_task(request_(shop, "books", f"o{number}")) for number in range(sent)]
            assert await asyncio.to_thread(hung.enough.wait, SECONDS)
            for number in range(MAX_REQUEST_THREADS + 1):
                assert (await order(other, "games", f"o{number}")).status_code == 201
            assert (await other.get("/games/v1/export.csv")).status_code == 200
            assert (await other.get("/healthz")).json()["merchants"].keys() == {"books", "games"}
            hung.released.set()
            outcomes = [response.status_code for response in await asyncio.gather(*tasks)]
            assert outcomes.count(503) == waiting
            assert len(set(outcomes)) == 2

    asyncio.run(run())
    assert len(hung.threads) == threads
    assert len(games.ids()) == MAX_REQUEST_THREADS + 1


def test_unknown_key_reads_the_database_on_a_thread(
    hosted: HostedMerchants, books: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    loops: list[int] = []
    threads: list[int] = []
    reading = books.database.reading

    def recorded() -> Any:
        threads.append(threading.get_ident())
        return reading()

    async def run() -> None:
        loops.append(threading.get_ident())
        async with client(hosted, books) as shop:
            headers = {"authorization": "Bearer pay_unknown", "idempotency-key": "k"}
            assert (await shop.post("/books/v1/payments", json={}, headers=headers)).status_code == 401

    monkeypatch.setattr(books.database, "reading", recorded)
    asyncio.run(run())
    assert threads
    assert loops[0] not in threads


def test_streamed_items_are_fetched_on_limited_threads() -> None:
    async def run() -> None:
        threads = RequestThreads(1)
        names: list[str] = []

        def items() -> Any:
            for item in range(3):
                names.append(threading.current_thread().name)
                yield item

        assert [item async for item in threads.iterate(items())] == [0, 1, 2]
        assert threading.main_thread().name not in names
        busy, done = threading.Event(), threading.Event()

        def block() -> bool:
            busy.set()
            return done.wait(SECONDS)

        blocked = asyncio.create_task(threads.run(block))
        assert await asyncio.to_thread(busy.wait, SECONDS)
        streamed = asyncio.create_task(anext(threads.iterate(items())))
        # Another merchant's threads are free.
        assert await RequestThreads(1).run(lambda: "free") == "free"
        assert not streamed.done()
        done.set()
        assert (await blocked, await streamed) == (True, 0)

    asyncio.run(run())
