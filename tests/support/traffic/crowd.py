"""Many clients of a node whose processes are killed: they reconnect after every failure."""

import asyncio
import itertools
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson

from live import DEV_ACCOUNTS
from traffic.clients import AWAITED, any_call, position_in
from traffic.record import Record
from traffic.wallet import Wallet

PENDING = ("eth_getBlockByNumber", "pending", False)
SENDERS = len(DEV_ACCOUNTS) - 1
# One in this many readers reads whole steps, or receipts; the others read only the pending block.
WHOLE, RECEIPTS = 20, 10
# Seconds between two reads of a reader.
PAUSE = 1.0
# Submissions between two queries of a sender's nonce, after which it resends transactions lost by a kill.
LOOK = 20
# Seconds between two connection attempts, and maximum seconds for a response.
_RETRY, _ANSWER = 0.02, 30.0
_HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"

GONE = (OSError, asyncio.IncompleteReadError, TimeoutError)


class Break(NamedTuple):
    """A failure that only the death of a process excuses."""

    moment: float
    what: str


class Failure(Exception):
    """A JSON-RPC error object."""


class Line:
    """JSON-RPC over one keep-alive connection, replaced when the server announces its close."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.led = 0
        """Number of connections that the server closed."""

    async def post(self, body: bytes) -> tuple[str, Any]:
        """Return the view in the response header, and the response. Raise the errors in `GONE`."""
        async with asyncio.timeout(_ANSWER):
            if self._streams is None:
                self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 26)
            reader, writer = self._streams
            writer.write(_HEAD % len(body) + body)
            lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
            fields = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines[1:])}
            answer = await reader.readexactly(int(fields[b"content-length"]))
        if fields.get(b"connection") == b"close":
            self.led += 1
            self.close()
        return fields.get(b"x-foreseal-view", b"0.0").decode(), orjson.loads(answer)

    async def request(self, method: str, *params: Any) -> Any:
        """Return the result of a call. Raise `Failure`."""
        return result_of((await self.post(orjson.dumps(request(method, params))))[1])

    async def batch(self, *calls: tuple[str, *tuple[Any, ...]]) -> list[Any]:
        """Return the results of calls that are served from one view. Raise `Failure`."""
        body = orjson.dumps([request(method, params) for method, *params in calls])
        return [result_of(answer) for answer in (await self.post(body))[1]]

    def close(self) -> None:
        """Close the connection; the next call opens a new one."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Crowd:
    """Clients in a separate thread, from `start` to `stop`."""

    def __init__(self, url: str, board: bytes, record: Record, seed: int, submissions: int, readers: int) -> None:
        """`submissions` per second, from one sender per account."""
        port = urlsplit(url).port
        assert port
        self.sent = self.reads = self.led = 0
        """Successful submissions and reads; connections that a server closed with notice."""
        self.refused: Counter[str] = Counter()
        """Rejected submissions, by the message."""
        self.breaks: list[Break] = []
        self.failure: BaseException | None = None
        """Unexpected error of a client."""
        self._port, self._board, self._record = port, board, record
        self._rate = submissions / SENDERS
        self._readers = readers
        self._rng = random.Random(seed)
        self._awaited: deque[str] = deque(maxlen=4 * AWAITED)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        """Let all clients finish their current work."""
        self._end.set()
        self._thread.join()

    def stop(self) -> None:
        """Stop like `end`. Raise the error that stopped a client before."""
        self.end()
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            asyncio.run(self._all())
        except BaseException as error:  # `stop` raises it in the waiting thread
            self.failure = error

    async def _all(self) -> None:
        work = [self._sender(Wallet(account), random.Random(self._rng.random())) for account in DEV_ACCOUNTS[:SENDERS]]
        for number in range(self._readers):
            if number % WHOLE == 0:
                work.append(self._reader(self._read_step))
            elif number % RECEIPTS == 1:
                work.append(self._reader(self._read_receipts))
            else:
                work.append(self._reader(self._read_alone))
        async with asyncio.TaskGroup() as group:
            for each in work:
                group.create_task(self._repeat(each))

    async def _repeat(self, work: Callable[[Line], Awaitable[None]]) -> None:
        """Repeat the work over consecutive connections."""
        while not self._end.is_set():
            line = Line(self._port)
            try:
                while not self._end.is_set():
                    await work(line)
            except (*GONE, Failure) as error:
                self._broke(error)
                await asyncio.sleep(_RETRY)
            finally:
                self.led += line.led
                line.close()

    def _broke(self, error: BaseException) -> None:
        self.breaks.append(Break(time.time(), repr(error)))

    def _reader(self, read: Callable[[Line], Awaitable[None]]) -> Callable[[Line], Awaitable[None]]:
        rng = random.Random(self._rng.random())

        async def work(line: Line) -> None:
            # Each starts at a random time, so that there is always one that reads.
            await asyncio.sleep(rng.uniform(0, 2 * PAUSE))
            await read(line)
            self.reads += 1

        return work

    async def _read_step(self, line: Line) -> None:
        self._record.saw_step(*await line.batch(("foreseal_status",), PENDING, ("eth_getBlockReceipts", "pending")))

    async def _read_alone(self, line: Line) -> None:
        view, answer = await line.post(orjson.dumps(request(PENDING[0], PENDING[1:])))
        self._record.saw_answer(position_in(view), result_of(answer))

    async def _read_receipts(self, line: Line) -> None:
        names = [self._awaited.popleft() for _ in range(min(len(self._awaited), AWAITED))]
        if not names:
            return
        try:
            receipts = await line.batch(*(("eth_getTransactionReceipt", name) for name in names))
        except BaseException:
            self._awaited.extend(names)
            raise
        for name, receipt in zip(names, receipts, strict=True):
            if receipt is None:
                self._awaited.append(name)
            else:
                self._record.saw_receipt(receipt)

    def _sender(self, wallet: Wallet, rng: random.Random) -> Callable[[Line], Awaitable[None]]:
        """Return a function that sends at its share of the rate; delayed submissions are sent as soon as possible."""
        due = time.monotonic() + rng.uniform(0, 1 / self._rate)

        async def work(line: Line) -> None:
            nonlocal due
            nonce = int(await line.request("eth_getTransactionCount", wallet.address, "pending"), 16)
            for _ in range(LOOK):
                early = due - time.monotonic()
                if early > 0:
                    await asyncio.sleep(early)
                # Submissions that were due during an outage are skipped.
                due = max(due, time.monotonic() - 1) + 1 / self._rate
                to, data = any_call(rng, [wallet], self._board)
                signed = wallet.sign(nonce, to, data, value=0 if data else rng.randrange(1000))
                _, answer = await line.post(orjson.dumps(request("eth_sendRawTransaction", [signed.raw])))
                if "error" in answer:
                    self.refused[answer["error"]["message"]] += 1
                    if answer["error"]["code"] == -32002:
                        raise Failure(answer["error"])
                else:
                    self.sent += 1
                    if rng.random() < 0.2:
                        self._awaited.append(signed.hash)
                nonce += 1

        return work


_IDS = itertools.count(1)


def request(method: str, params: Any) -> dict[str, Any]:
    """Return a JSON-RPC call."""
    return {"jsonrpc": "2.0", "id": next(_IDS), "method": method, "params": params}


def result_of(answer: dict[str, Any]) -> Any:
    """Return the result in a response. Raise `Failure`."""
    if "error" in answer:
        raise Failure(answer["error"])
    return answer["result"]
