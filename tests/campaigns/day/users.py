"""A mixed load: payments, reads of every kind at every height, filters, short-lived subscribers."""

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from foreseal.client import AsyncClient, Client, ClientError, Options, RpcError, calls
from live import DEV_ACCOUNTS, Rpc, RpcFailure
from traffic.transfers import transfer_call
from traffic.wallet import Wallet

# Maximum transactions of one request.
BATCH = 8
# Maximum age of read blocks.
_FAR = 5000


class Users:
    """Threads that use a node until they are stopped."""

    def __init__(self, url: str, token: bytes, seed: int, pause: float) -> None:
        """`pause` is the interval in seconds between two requests of a user."""
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        self._url, self._token, self._pause = url, token, pause
        self._stop = threading.Event()
        works: list[Callable[[random.Random], None]] = [
            self._pay,
            self._read,
            self._read_back,
            self._filter,
            self._listen,
        ]
        works += [self._come_and_go]
        self._threads = [
            threading.Thread(target=self._guard, args=(work, random.Random(seed * 100 + number)))
            for number, work in enumerate(works)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop all of them."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _guard(self, work: Callable[[random.Random], None], draw: random.Random) -> None:
        try:
            work(draw)
        except Exception as error:  # a thread can report only through the summary
            self.faults.append(f"{work.__name__}: {error!r}")

    def _rest(self) -> bool:
        return not self._stop.wait(self._pause)

    def _pay(self, draw: random.Random) -> None:
        wallets = [Wallet(account) for account in DEV_ACCOUNTS]
        with Client(self._url, Options(timeout=30.0)) as client:
            nonces = {wallet.address: client.get_transaction_count(wallet.address, "pending") for wallet in wallets}
            while self._rest():
                wallet = draw.choice(wallets)
                raw = []
                for _ in range(draw.randint(1, BATCH)):
                    # Sometimes the receiver is a new account, so that the state grows.
                    to = draw.randbytes(20).hex() if draw.random() < 0.1 else draw.choice(wallets).address[2:].lower()
                    data = transfer_call("0x" + to, draw.randrange(3))
                    raw.append(wallet.sign(nonces[wallet.address], self._token, data).raw)
                    nonces[wallet.address] += 1
                for answer in client.batch([calls.send_raw_transaction(each) for each in raw]):
                    if isinstance(answer, Exception):
                        raise answer
                self.counts["transactions"] += len(raw)

    def _read(self, draw: random.Random) -> None:
        rpc = Rpc(self._url)
        account = DEV_ACCOUNTS[1].address
        token = "0x" + self._token.hex()
        balance = {"to": token, "data": "0x70a08231" + account[2:].lower().rjust(64, "0")}
        asked: list[tuple[Any, ...]] = [
            ("eth_getBlockByNumber", "pending", True),
            ("eth_getBlockReceipts", "pending"),
            ("eth_getLogs", {"address": token, "fromBlock": "pending", "toBlock": "pending"}),
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
        while self._rest():
            rpc(*draw.choice(asked))
            self.counts["reads"] += 1
        rpc.close()

    def _read_back(self, draw: random.Random) -> None:
        rpc = Rpc(self._url)
        token = "0x" + self._token.hex()
        while self._rest():
            head = int(rpc("eth_blockNumber"), 16)
            number = draw.randint(max(head - _FAR, 0), head)
            rpc("eth_getBlockByNumber", hex(number), False)
            rpc("eth_getBalance", draw.choice(DEV_ACCOUNTS).address, hex(number))
            rpc("eth_getLogs", {"address": token, "fromBlock": hex(max(number - 50, 0)), "toBlock": hex(number)})
            block = rpc("eth_getBlockByNumber", hex(number), False)
            if block["transactions"]:
                rpc("eth_getTransactionReceipt", draw.choice(block["transactions"]))
            self.counts["old reads"] += 5
        rpc.close()

    def _filter(self, draw: random.Random) -> None:
        rpc = Rpc(self._url)
        made: list[str] = []
        while self._rest():
            if len(made) < 10:
                made.append(rpc(draw.choice(["eth_newBlockFilter", "eth_newPendingTransactionFilter"])))
            elif draw.random() < 0.02:
                rpc("eth_uninstallFilter", made.pop())
            else:
                try:
                    rpc("eth_getFilterChanges", draw.choice(made))
                except RpcFailure as failure:
                    # It polled too rarely: it gets an error for missed changes, or the filter has expired.
                    self.counts[f"filter refused: {failure.code}"] += 1
                    made.clear()
            self.counts["filters"] += 1
        rpc.close()

    def _listen(self, _draw: random.Random) -> None:
        asyncio.run(self._follow())

    async def _follow(self) -> None:
        async with AsyncClient(self._url.replace("http", "ws"), Options(timeout=30.0)) as client:
            async for _ in client.feed():
                self.counts["events"] += 1
                if self._stop.is_set():
                    return

    def _come_and_go(self, draw: random.Random) -> None:
        asyncio.run(self._visits(draw))

    async def _visits(self, draw: random.Random) -> None:
        while not self._stop.is_set():
            try:
                async with AsyncClient(self._url.replace("http", "ws"), Options(timeout=30.0)) as client:
                    end = time.monotonic() + draw.uniform(0.05, 1)
                    async for _ in client.feed():
                        if time.monotonic() > end or self._stop.is_set():
                            break
                self.counts["visits"] += 1
            except (ClientError, RpcError) as error:
                self.faults.append(f"a visit: {error!r}")
                return
