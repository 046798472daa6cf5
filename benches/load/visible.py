"""Delay from a transaction's submission until others can see it, by three methods, at several rates and step intervals.

`nonce`: the sender's pending nonce, polled; it counts the pool, so it shows that the submission was accepted.
`receipt`: the receipt, polled: the transaction is pre-confirmed.
`log`: its log, pushed to a subscription to `pendingLogs`.

Every delay begins when the transaction was due, so that a submission that had to wait counts in full. Polled figures
include the polling: half an interval on average. Polled transactions are spread evenly over the run.
"""

import argparse
import asyncio
import itertools
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import uvloop
from benches.load.__main__ import served
from benches.load.lanes import Lane, fail_with, pace, quantiles, until
from benches.load.wallets import Signed, wallets
from benches.load.websocket import Subscriber
from benches.result_file import save

from foreseal.bench.provenance import read_provenance

RESULT = Path(__file__).parents[1] / "results" / "visible.json"
PACKAGES = ("granian", "orjson", "uvloop")
ACCOUNTS = 100
# Target: one step plus this slack, at the highest rate and the default step.
AIM_RATE, AIM_STEP, SLACK_MS = 2_000, 200, 20
# Seconds between two polls, and polled transactions per second.
POLL_INTERVAL, SAMPLES = 0.004, 200
PATIENCE = 30


@dataclass
class Run:
    """Observations of one run; all times are in seconds of one clock."""

    due: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    taken: dict[int, float] = field(default_factory=dict)
    """Time of the response to the submission, by number of the transaction."""
    seen: dict[str, dict[int, float]] = field(default_factory=lambda: {"nonce": {}, "receipt": {}, "log": {}})
    """Time at which each method showed the transaction."""


class Poller:
    """Polls for a few transactions at once, all of them in one batch, until each is seen."""

    def __init__(self, lane: Lane, poll_call: Callable[[int], bytes], shows: Callable[[int, object], bool]) -> None:
        """`poll_call` returns the call for a transaction; `shows` returns True if its result has the transaction."""
        self._lane, self._poll_call, self._shows = lane, poll_call, shows
        self._waiting: list[int] = []
        self.seen: dict[int, float] = {}

    def add(self, number: int) -> None:
        """Add a transaction."""
        self._waiting.append(number)

    async def run(self) -> None:
        """Poll until cancelled."""
        while True:
            began = time.perf_counter()
            if self._waiting:
                await self._poll()
            await asyncio.sleep(max(0.0, began + POLL_INTERVAL - time.perf_counter()))

    async def _poll(self) -> None:
        polled = self._waiting.copy()
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._lane.call(b"[%b]" % b",".join(map(self._poll_call, polled)), future.set_result)
        answers = orjson.loads(await future)
        now = time.perf_counter()
        visible_numbers = {
            number for number, answer in zip(polled, answers, strict=True) if self._shows(number, answer["result"])
        }
        self.seen |= dict.fromkeys(visible_numbers, now)
        self._waiting = [number for number in self._waiting if number not in visible_numbers]


def call(method: str, *params: object) -> bytes:
    """Return the body of a call."""
    return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


async def deploy(lane: Lane, creation: Signed) -> None:
    """Create the contract and wait until it is in a step."""
    await lane.request("eth_sendRawTransaction", creation.raw)
    while await lane.request("eth_getTransactionReceipt", creation.hash) is None:
        pass


class Measurement:
    """One rate at one step interval."""

    def __init__(self, port: int, rate: int, seconds: float) -> None:
        *self.senders, owner = wallets(ACCOUNTS + 1)
        self.port, self.rate = port, rate
        self.creation, self.contract = owner.create_logger(1)
        turns = itertools.islice(itertools.cycle(self.senders), int(rate * seconds))
        self.signed = [sender.call(self.contract, 1) for sender in turns]
        self.numbers = {signed.hash: number for number, signed in enumerate(self.signed)}
        self.run = Run()

    def _nonce_call(self, number: int) -> bytes:
        return call("eth_getTransactionCount", self.senders[number % ACCOUNTS].address, "pending")

    def _shows_nonce(self, number: int, result: object) -> bool:
        return int(str(result), 16) > number // ACCOUNTS

    def _receipt_call(self, number: int) -> bytes:
        return call("eth_getTransactionReceipt", self.signed[number].hash)

    def _notified(self, text: bytes) -> None:
        now = time.perf_counter()
        log = orjson.loads(text)["params"]["result"]
        number = self.numbers[log["transactionHash"]]
        if log["removed"] or number in self.run.seen["log"]:
            raise RuntimeError(f"transaction {number} was notified twice or undone: {log}")
        self.run.seen["log"][number] = now

    def _submission(self, lane: Lane, number: int, sampled: Iterable[Poller]) -> Callable[[], None]:
        body = self.signed[number].call("eth_sendRawTransaction")
        hash_ = self.signed[number].hash.encode()

        def answered(answer: bytes) -> None:
            self.run.taken[number] = time.perf_counter()
            if hash_ not in answer:
                raise RuntimeError(f"transaction {number} was not taken: {answer!r}")

        def send() -> None:
            lane.call(body, answered)
            for poller in sampled:
                poller.add(number)

        return send

    async def measure(self) -> Run:
        """Submit all transactions and wait until all are seen."""
        fail_with(asyncio.current_task())
        first = await Lane(self.port).open()
        await deploy(first, self.creation)
        lanes = [await Lane(self.port).open() for _ in range(ACCOUNTS)]
        nonce = Poller(await Lane(self.port).open(), self._nonce_call, self._shows_nonce)
        receipt = Poller(await Lane(self.port).open(), self._receipt_call, lambda _, result: result is not None)
        self.run.seen |= {"nonce": nonce.seen, "receipt": receipt.seen}
        filter_ = {"address": "0x" + self.contract.hex()}
        subscriber = await Subscriber(self.port, ("pendingLogs", filter_), self._notified).open()
        polling = [asyncio.create_task(poller.run()) for poller in (nonce, receipt)]
        every = max(1, self.rate // SAMPLES)
        send = [
            self._submission(lanes[number % ACCOUNTS], number, () if number % every else (nonce, receipt))
            for number in range(len(self.signed))
        ]
        self.run.due, self.run.late = await pace(self.rate, send)
        samples = len(range(0, len(send), every))
        expected = {"nonce": samples, "receipt": samples, "log": len(send)}
        seen = self.run.seen
        if not await until(lambda: all(len(seen[way]) == count for way, count in expected.items()), PATIENCE):
            raise RuntimeError(f"of {expected} were seen { ({way: len(seen[way]) for way in seen}) }")
        for task in polling:
            task.cancel()
        subscriber.close()
        return self.run


def measure(rate: int, step: int, seconds: float) -> dict[str, Any]:
    """Return the figures of one rate (per second) at one step interval (ms), on a new node."""
    options = ("--accounts", str(ACCOUNTS + 1), "--step", f"{step}ms")
    with served("-m", "foreseal", "dev", "--port", "0", *options) as port:
        run = uvloop.run(Measurement(port, rate, seconds).measure())

    def delays(moments: dict[int, float]) -> dict[str, Any]:
        return {"samples": len(moments), **quantiles([at - run.due[number] for number, at in moments.items()])}

    figures: dict[str, Any] = {
        "rate_per_second": rate,
        "step_ms": step,
        "transactions": len(run.due),
        "generator_late": quantiles(run.late),
        "submission_answered": delays(run.taken),
        **{way: delays(moments) for way, moments in run.seen.items()},
    }
    if (rate, step) == (AIM_RATE, AIM_STEP):
        aim = step + SLACK_MS
        figures |= {"aim_p99_ms": aim, "reached": all(delays(way)["p99_ms"] <= aim for way in run.seen.values())}
    return figures


def show(figures: dict[str, Any]) -> None:
    """Print one line."""
    ways = " ".join(
        "{}: {p50_ms:.0f}/{p99_ms:.0f}/{p999_ms:.0f}".format(way, **figures[way])
        for way in ("generator_late", "submission_answered", "nonce", "receipt", "log")
    )
    print(f"{figures['rate_per_second']:>5}/s, step {figures['step_ms']:>3} ms  {ways}", flush=True)


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(prog="python -m benches.load.visible", description=__doc__)
    parser.add_argument("--rates", type=int, nargs="+", default=[100, 1_000, AIM_RATE], help="transactions a second")
    parser.add_argument("--steps", type=int, nargs="+", default=[AIM_STEP, 50, 10], help="milliseconds")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--save", type=Path, default=RESULT)
    given = parser.parse_args()
    print("p50/p99/p999 in ms")
    results = []
    for step, rate in itertools.product(given.steps, given.rates):
        results.append(measure(rate, step, given.seconds))
        show(results[-1])
    rates, steps = (" ".join(map(str, each)) for each in (given.rates, given.steps))
    command = f"python -m benches.load.visible --rates {rates} --steps {steps} --seconds {given.seconds:g}"
    report = read_provenance(command, PACKAGES) | {
        "poll_interval_ms": POLL_INTERVAL * 1000,
        "accounts": ACCOUNTS,
        "results": results,
    }
    save(report, given.save)


if __name__ == "__main__":
    main()
