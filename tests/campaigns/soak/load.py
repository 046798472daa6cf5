"""A light mixed load at fixed rates: submissions, reads of all kinds, subscriptions, filters, short connections."""

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson
import websockets

from live import DEV_ACCOUNTS
from traffic.crowd import Failure, Line, request
from traffic.transfers import transfer_call
from traffic.wallet import Wallet

SUBSCRIPTIONS: tuple[tuple[Any, ...], ...] = (
    ("newHeads",),
    ("logs", {}),
    ("newPendingTransactions", True),
    ("syncing",),
    ("pendingLogs",),
    ("newFlashblockTransactions", True),
    ("newFlashblocks",),
    ("foreseal_feed",),
)
FILTERS = ("eth_newBlockFilter", "eth_newPendingTransactionFilter")
# Transactions per batch, and concurrent filters.
BATCH = 10
# Maximum age of read blocks, and blocks per search, below the limit of logs per response.
FAR, SEARCHED = 2000, 20
# Largest message of a subscription, in bytes.
_MESSAGE = 1 << 26


@dataclass(frozen=True)
class Rates:
    """Events per second."""

    submissions: float = 100.0
    """Transactions, half of them in batches of ten."""
    reads: float = 60.0
    filters: float = 4.0
    visits: float = 1.0
    """Short connections that subscribe or call."""


class Load:
    """Clients in a separate thread, from the start to `stop`."""

    def __init__(self, url: str, token: bytes, seed: int, rates: Rates) -> None:
        """`token` is the address of the contract that they use."""
        port = urlsplit(url).port
        assert port is not None
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        self._lines: list[Line] = []
        self._port, self._token, self._rates = port, token, rates
        self._rng = random.Random(seed)
        self._end = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._thread.start()

    def stop(self) -> None:
        """Stop all clients."""
        self._end.set()
        self._thread.join()

    async def _run(self) -> None:
        rates = self._rates
        half = rates.submissions / 2
        wallets = [Wallet(account) for account in DEV_ACCOUNTS]
        middle = len(wallets) // 2
        works = [
            self._every(half, self._submitter(wallets[:middle], 1)),
            self._every(half / BATCH, self._submitter(wallets[middle:], BATCH)),
            self._every(rates.reads / 2, self._reader(self._new_read)),
            self._every(rates.reads / 2, self._reader(self._old_read)),
            self._every(rates.filters, self._poller()),
            self._every(rates.visits, self._visit),
            self._guard(self._listen()),
        ]
        await asyncio.gather(*works)
        for line in self._lines:
            line.close()
        # The event loop closes a socket in its next iteration.
        await asyncio.sleep(0)

    def _open(self) -> Line:
        """Open a keep-alive connection, closed at the end."""
        self._lines.append(Line(self._port))
        return self._lines[-1]

    async def _every(self, rate: float, work: Callable[[], Awaitable[None]]) -> None:
        """Repeat the work at a fixed rate; late work starts at once."""
        await self._guard(self._repeat(rate, work))

    async def _repeat(self, rate: float, work: Callable[[], Awaitable[None]]) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + self._rng.random() / rate
        while not self._end.is_set():
            early = due - loop.time()
            if early > 0:
                await asyncio.sleep(early)
            # After an outage of the node, skipped work is not caught up.
            due = max(due, loop.time() - 1) + 1 / rate
            await work()

    async def _guard(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception as error:  # a client can report only to the summary
            self.faults.append(repr(error))

    def _submitter(self, wallets: list[Wallet], size: int) -> Callable[[], Awaitable[None]]:
        line, nonces = self._open(), dict[str, int]()

        async def submit() -> None:
            wallet = self._rng.choice(wallets)
            if wallet.address not in nonces:
                nonces[wallet.address] = int(
                    await line.request("eth_getTransactionCount", wallet.address, "pending"), 16
                )
            calls = []
            for _ in range(size):
                # Sometimes the receiver is a new account: the state grows like on a real chain.
                new = self._rng.random() < 0.1
                to = self._rng.randbytes(20).hex() if new else self._rng.choice(wallets).address[2:].lower()
                signed = wallet.sign(nonces[wallet.address], self._token, transfer_call("0x" + to, 1))
                calls.append(("eth_sendRawTransaction", signed.raw))
                nonces[wallet.address] += 1
            await (line.batch(*calls) if size > 1 else line.request(*calls[0]))
            self.counts["submissions"] += size

        return submit

    def _reader(self, pick: Callable[[int], tuple[Any, ...]]) -> Callable[[], Awaitable[None]]:
        line, head = self._open(), [0]

        async def read() -> None:
            if self._rng.random() < 0.1 or not head[0]:
                head[0] = int(await line.request("eth_blockNumber"), 16)
            method, *params = pick(head[0])
            answer = await line.request(method, *params)
            self.counts["reads"] += 1
            if method == "eth_getBlockByNumber" and answer["transactions"] and params[1] is False:
                await line.request("eth_getTransactionReceipt", self._rng.choice(answer["transactions"]))
                self.counts["reads"] += 1

        return read

    def _new_read(self, _head: int) -> tuple[Any, ...]:
        account, token = DEV_ACCOUNTS[1].address, "0x" + self._token.hex()
        balance = {"to": token, "data": "0x70a08231" + account[2:].lower().rjust(64, "0")}
        return self._rng.choice(
            [
                ("eth_getBlockByNumber", "pending", True),
                ("eth_getBlockByNumber", "latest", False),
                ("eth_getBlockReceipts", "latest"),
                ("eth_getLogs", {"address": token, "fromBlock": "latest", "toBlock": "pending"}),
                ("eth_call", balance, "pending"),
                ("eth_estimateGas", balance),
                ("eth_getTransactionCount", account, "pending"),
                ("eth_getProof", account, [], "latest"),
                ("eth_feeHistory", "0x10", "latest", [50]),
                ("eth_createAccessList", balance, "latest"),
                ("debug_traceCall", balance, "latest", {"tracer": "callTracer"}),
                ("eth_simulateV1", {"blockStateCalls": [{"calls": [balance]}]}, "latest"),
                ("txpool_content",),
                ("foreseal_status",),
            ]
        )

    def _old_read(self, head: int) -> tuple[Any, ...]:
        number = self._rng.randint(max(head - FAR, 0), head)
        begin = hex(max(number - SEARCHED, 0))
        return self._rng.choice(
            [
                ("eth_getBlockByNumber", hex(number), False),
                ("eth_getBlockByNumber", hex(number), True),
                ("eth_getBlockReceipts", hex(number)),
                ("eth_getBalance", self._rng.choice(DEV_ACCOUNTS).address, hex(number)),
                ("eth_getLogs", {"address": "0x" + self._token.hex(), "fromBlock": begin, "toBlock": hex(number)}),
            ]
        )

    def _poller(self) -> Callable[[], Awaitable[None]]:
        line, made = self._open(), list[str]()

        async def poll() -> None:
            self.counts["filters"] += 1
            if len(made) < BATCH:
                made.append(await line.request(self._rng.choice(FILTERS)))
            elif self._rng.random() < 0.05:
                await line.request("eth_uninstallFilter", made.pop())
            else:
                try:
                    await line.request("eth_getFilterChanges", self._rng.choice(made))
                except Failure:
                    # With accelerated clocks it was polled too rarely: it has expired.
                    self.counts["filters lost"] += 1
                    made.clear()

        return poll

    async def _visit(self) -> None:
        self.counts["visits"] += 1
        if self._rng.random() < 0.5:
            line = Line(self._port)
            await line.request("eth_blockNumber")
            line.close()
            return
        async with self._connect() as socket:
            await self._subscribe(socket, self._rng.choice(SUBSCRIPTIONS))

    async def _listen(self) -> None:
        async with self._connect() as socket:
            for params in SUBSCRIPTIONS:
                await self._subscribe(socket, params)
            while not self._end.is_set():
                # A heartbeat of the feed comes in any case.
                await socket.recv()
                self.counts["notifications"] += 1

    def _connect(self) -> websockets.connect:
        return websockets.connect(f"ws://127.0.0.1:{self._port}", max_size=_MESSAGE, compression=None)

    async def _subscribe(self, socket: websockets.ClientConnection, params: tuple[Any, ...]) -> None:
        call = request("eth_subscribe", params)
        await socket.send(orjson.dumps(call).decode())
        while True:
            message = orjson.loads(await socket.recv())
            if "error" in message:
                raise Failure(message["error"])
            if message.get("id") == call["id"]:
                return
