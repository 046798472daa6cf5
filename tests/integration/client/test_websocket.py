"""Calls and feeds over real sockets."""

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve

from client.scripted import ScriptedNode
from client.socket_node import SocketNode
from foreseal.client import (
    AsyncClient,
    Backoff,
    Client,
    ConnectionLost,
    Cursor,
    InvalidResponse,
    Options,
    StepRemoved,
    TimedOut,
)
from traffic.proxy import CuttingProxy

QUICK = Options(timeout=5.0, heartbeat_timeout=5.0, backoff=Backoff(0.001, 0.01), attempts=50)


class Mute(SocketNode):
    """Responds only to the call of another client."""

    def answer(self, request: dict[str, Any]) -> bytes:
        self.asked.append(request["method"])
        return b'{"jsonrpc":"2.0","id":99999,"result":null}'


class Listing(SocketNode):
    """Responds with an unknown id."""

    def answer(self, request: dict[str, Any]) -> bytes:
        return b'{"jsonrpc":"2.0","id":[1],"result":"0x1"}'


@asynccontextmanager
async def listening(mean: int | None = None) -> AsyncIterator[tuple[SocketNode, CuttingProxy, str]]:
    """Serve a node behind a proxy and yield the URL of the proxy."""
    node = SocketNode()
    await node.listen()
    proxy = CuttingProxy(node.port, random.Random(1), mean)
    await proxy.start()
    try:
        yield node, proxy, f"ws://127.0.0.1:{proxy.port}"
    finally:
        await proxy.stop()
        await node.stop()


@contextmanager
def listening_thread(node: SocketNode) -> Iterator[tuple[SocketNode, Callable[[Callable[[], Any]], Any], str]]:
    """Serve the same on the event loop of another thread; yield a function that runs code there, too."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def there(work: Callable[[], Any]) -> Any:
        async def run() -> Any:
            done = work()
            return await done if isinstance(done, Coroutine) else done

        return asyncio.run_coroutine_threadsafe(run(), loop).result(10)

    there(node.listen)
    try:
        yield node, there, f"ws://127.0.0.1:{node.port}"
    finally:
        there(node.stop)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def test_concurrent_calls_share_a_connection() -> None:
    async with listening() as (node, proxy, url), AsyncClient(url, QUICK) as client:
        node.add()
        pages = await asyncio.gather(*(client.get_flashblocks() for _ in range(20)))
        assert {page.cursor.hash for page in pages} == {node.chain[-1]["hash"]}
        assert proxy.connections == 1


async def test_call_is_retried_on_a_new_connection_after_a_cut() -> None:
    async with listening() as (node, proxy, url), AsyncClient(url, QUICK) as client:
        await client.get_flashblocks()
        port = node.port
        await node.stop()
        waiting = asyncio.create_task(client.get_flashblocks())
        await asyncio.sleep(0)
        await node.listen(port)
        assert (await waiting).cursor.hash == node.chain[-1]["hash"]
        assert proxy.connections >= 2


async def test_unreachable_node_raises_connection_lost() -> None:
    # The message names the server, and no part of the URL that may be secret.
    url, where = "ws://name:word@127.0.0.1:9/key", r"^ws://127\.0\.0\.1:9: ConnectionRefusedError"
    with Client(url, Options(attempts=1)) as client, pytest.raises(ConnectionLost, match=where):
        client.block_number()
    async with AsyncClient(url, Options(attempts=1)) as client:
        with pytest.raises(ConnectionLost, match=where):
            await client.block_number()


@pytest.mark.parametrize(("status", "kind"), [(404, InvalidResponse), (403, InvalidResponse), (500, ConnectionLost)])
async def test_a_rejected_websocket_has_a_reason(status: int, kind: type[Exception]) -> None:
    asked = []

    def refuse(connection: ServerConnection, request: Any) -> Any:
        asked.append(request.path)
        return connection.respond(status, "nothing here\n")

    async def never(connection: ServerConnection) -> None: ...

    async with serve(never, "127.0.0.1", 0, process_request=refuse) as server:
        url = f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/nope"
        told = Options(attempts=2, backoff=Backoff(0.001, 0.01))
        async with AsyncClient(url, told) as client:
            with pytest.raises(kind, match=f"^HTTP {status}: nothing here$"):
                await client.block_number()
        assert len(asked) == (1 if kind is InvalidResponse else 2)
        with pytest.raises(kind, match=f"^HTTP {status}: nothing here$"):
            await asyncio.to_thread(Client(url, told).block_number)


async def test_missing_response_raises_a_timeout() -> None:
    node = Mute()
    await node.listen()
    async with AsyncClient(f"ws://127.0.0.1:{node.port}", Options(timeout=0.1, attempts=2)) as client:
        with pytest.raises(TimedOut):
            await client.block_number()
    await node.stop()


async def test_id_of_a_wrong_type_fails_only_its_call() -> None:
    node = Listing()
    await node.listen()
    options = Options(timeout=20.0, attempts=1)
    async with AsyncClient(f"ws://127.0.0.1:{node.port}", options) as client:
        for _ in range(2):
            with pytest.raises(ConnectionLost, match="for another call"):
                await client.chain_id()
    await node.stop()


def test_timed_out_call_closes_its_connection() -> None:
    # Its response may still arrive, and must not be taken for that of another call.
    with listening_thread(Mute()) as (node, there, url), Client(url, Options(timeout=0.5, attempts=1)) as client:
        while not node.asked:  # a busy machine may take longer to connect
            with pytest.raises(TimedOut):
                client.block_number()
        there(node.left.wait)
        assert node.connected == 0


@pytest.mark.parametrize("mean", [400, 3_000, 20_000])
async def test_a_feed_cut_at_random_bytes_yields_every_step_once(mean: int) -> None:
    rng = random.Random(mean)
    async with listening(mean) as (node, proxy, url), AsyncClient(url, QUICK) as client:
        chain = [node.chain[0]["hash"]]
        told = 0

        async def read() -> None:
            nonlocal told
            async for event in client.feed(Cursor.read(node.chain[0].cursor)):
                told += 1
                if isinstance(event, StepRemoved):
                    assert chain.pop() == event.flashblock.hash
                else:
                    assert chain[-1] == event.flashblock.parent
                    chain.append(event.flashblock.hash)

        reading = asyncio.create_task(read())
        for _ in range(400):
            _act(node, rng)
            await asyncio.sleep(rng.random() * 0.002)
        proxy.mean = None
        while chain != [step["hash"] for step in node.chain]:
            assert not reading.done(), reading.exception()
            node.beat()
            await asyncio.sleep(0.01)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        assert proxy.cuts > 5
        assert told > 100


def _act(node: ScriptedNode, rng: random.Random) -> None:
    kind = rng.randrange(20)
    if kind < 15:
        node.add(seal=kind < 3)
    elif kind < 16:
        node.undo(rng.randint(1, 5))
    else:
        node.beat()


async def test_canceled_wait_for_an_event_can_be_repeated() -> None:
    async with listening() as (node, proxy, url), AsyncClient(url, QUICK) as client:
        feed = client.feed()
        await feed.connect()
        for _ in range(20):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(feed), 0.005)
        added = [node.add()["hash"] for _ in range(3)]
        assert [(await anext(feed)).flashblock.hash for _ in range(3)] == added
        assert (feed.connections, proxy.connections) == (1, 2)


async def test_closed_feed_releases_its_connection() -> None:
    async with listening() as (node, _, url), AsyncClient(url, QUICK) as client:
        async with client.feed() as feed:
            await feed.connect()
            assert node.subscriptions == 1
        await node.closed.wait()
        with pytest.raises(StopAsyncIteration):
            await anext(feed)


def test_the_blocking_client_reads_calls_and_feed() -> None:
    with listening_thread(SocketNode()) as (node, there, url), Client(url, QUICK) as client:
        place = client.get_flashblocks().cursor
        with client.feed(place) as feed:
            added = [there(node.add)["hash"] for _ in range(3)]
            assert [next(feed).flashblock.hash for _ in range(3)] == added
            there(node.stop)
            there(lambda: node.undo(1))
            added = [there(node.add)["hash"]]
            there(node.listen)
            assert [next(feed).flashblock.removed for _ in range(2)] == [True, False]
            assert feed.cursor == Cursor.read(node.chain[-1].cursor)
            assert feed.connections == 2
        assert client.get_flashblocks().cursor == feed.cursor


def test_blocking_client_matches_responses_to_calls() -> None:
    with listening_thread(SocketNode()) as (node, _, url), Client(url, QUICK) as client:
        wrong: list[Any] = []

        def query(limit: int) -> None:
            for _ in range(50):
                page = client.get_flashblocks(Cursor.read(node.chain[0].cursor), limit)
                if len(page.flashblocks) != limit:
                    wrong.append(page)

        for _ in range(5):
            node.add()
        threads = [threading.Thread(target=query, args=(limit,)) for limit in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
