"""Signed transfers of many accounts, sent to one node at fixed times regardless of its responses."""

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import orjson
from benches.load.lanes import Lane, until

from foreseal.bench.chain_content import SignedTransaction
from transfer_accounts import TransferAccount

LANES = 8
# Requests a second above which several transactions share one request.
MAX_REQUESTS = 250
_BATCH = 32
_ANSWER_TIMEOUT, _RESEND_PAUSE = 60.0, 0.05


@dataclass
class StreamRecord:
    """Times of one run, in seconds of `time.perf_counter`."""

    sent: dict[str, float] = field(default_factory=dict)
    """Time at which the request with a transaction was due, by its hash."""
    raw: dict[str, str] = field(default_factory=dict)
    """Raw transactions as 0x hex, by their hashes."""
    answered: list[float] = field(default_factory=list)
    """Seconds until the response to a request, from the time at which it was due."""
    late: list[float] = field(default_factory=list)
    """Seconds by which the generator was late."""
    accepted: int = 0
    rejected: int = 0
    first_error: str | None = None


class TransferStream:
    """Sends at a fixed rate. The transfers of one account use one connection, so that their nonces arrive in order."""

    def __init__(self, port: int, accounts: Sequence[TransferAccount], *, record: bool = True) -> None:
        """Without `record` the times of single transactions are not stored, for long runs."""
        self.done = StreamRecord()
        self._port = port
        self._record = record
        self._by_lane = [itertools.cycle(accounts[number::LANES]) for number in range(LANES)]
        self._in_flight = 0
        self._resend: list[deque[SignedTransaction]] = [deque() for _ in range(LANES)]

    async def run(self, rate: float, seconds: float, stopped: Callable[[], bool] = lambda: False) -> StreamRecord:
        """Send `rate` transactions a second for some seconds, then wait for all responses. Raises RuntimeError."""
        lanes = [await Lane(self._port).open() for _ in range(LANES)]
        size = group_size(rate)
        start = time.perf_counter()
        for number in range(round(rate * seconds / size)):
            if stopped():
                break
            due = start + number * size / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            self.done.late.append(max(0.0, time.perf_counter() - due))
            lane = number % LANES
            group = [self._next(lane) for _ in range(size)]
            if self._record:
                for transfer in group:
                    self.done.sent.setdefault(transfer.hash, due)
                    self.done.raw[transfer.hash] = transfer.raw
            self._send(lanes[lane], lane, group, due)
        await self._finish(lanes)
        for each in lanes:
            each.close()
        return self.done

    def _send(self, connection: Lane, lane: int, group: list[SignedTransaction], due: float) -> None:
        self._in_flight += 1
        connection.call(request_body(group), self._on_answer(lane, group, due))

    async def _finish(self, lanes: list[Lane]) -> None:
        """Wait for all responses, and send rejected transactions again until each is accepted."""
        end = time.perf_counter() + _ANSWER_TIMEOUT
        while True:
            if not await until(lambda: not self._in_flight, end - time.perf_counter()):
                raise RuntimeError(f"{self._in_flight} requests have no response after {_ANSWER_TIMEOUT:.0f} s")
            if not any(self._resend):
                return
            if time.perf_counter() > end:
                raise RuntimeError(f"transactions are rejected: {self.done.first_error}")
            await asyncio.sleep(_RESEND_PAUSE)
            for lane, waiting in enumerate(self._resend):
                if waiting:
                    group = list(waiting)[:_BATCH]
                    self._resend[lane] = deque(list(waiting)[_BATCH:])
                    self._send(lanes[lane], lane, group, time.perf_counter())

    def _next(self, lane: int) -> SignedTransaction:
        waiting = self._resend[lane]
        return waiting.popleft() if waiting else next(self._by_lane[lane]).pop()

    def _on_answer(self, lane: int, group: list[SignedTransaction], due: float) -> Callable[[bytes], None]:
        def answered(body: bytes) -> None:
            self._in_flight -= 1
            self.done.answered.append(time.perf_counter() - due)
            rejected = rejected_of(body, group)
            self.done.accepted += len(group) - len(rejected)
            self.done.rejected += len(rejected)
            if rejected and self.done.first_error is None:
                self.done.first_error = body[:500].decode(errors="replace")
            self._resend[lane] += rejected

        return answered


def group_size(rate: float) -> int:
    """Return the number of transactions per request at this rate."""
    return max(1, -(-round(rate) // MAX_REQUESTS))


def request_body(group: Sequence[SignedTransaction]) -> bytes:
    """Return the body that submits transactions: one call, or a batch of several."""
    calls = [
        {"jsonrpc": "2.0", "id": number, "method": "eth_sendRawTransaction", "params": [each.raw]}
        for number, each in enumerate(group)
    ]
    return orjson.dumps(calls[0] if len(calls) == 1 else calls)


def rejected_of(body: bytes, group: Sequence[SignedTransaction]) -> list[SignedTransaction]:
    """Return the transactions of a request that its response rejects, unless the node has them already."""
    if b'"error"' not in body:
        return []
    response = orjson.loads(body)
    answers: Iterable[dict[str, object]] = response if isinstance(response, list) else [response]
    errors = {each.get("id"): str(each["error"]) for each in answers if "error" in each}
    return [
        transfer for number, transfer in enumerate(group) if number in errors and "already known" not in errors[number]
    ]
