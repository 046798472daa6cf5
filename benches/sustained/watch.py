"""Measurement during a load: steps, delays of probes, and sizes of the node, each second."""

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import orjson
from benches.cluster.tick_watch import TickWatch
from benches.load.lanes import Lane
from benches.load.visible import call, deploy
from benches.load.wallets import Wallet
from benches.load.websocket import Subscriber

from foreseal.bench.process_usage import ProcessGroup

PROBES_PER_SECOND = 5
_GAUGES = {"backlog": "foreseal_store_backlog", "throttle": "foreseal_store_share"}
_COUNTERS = {"transactions": "foreseal_transactions_total", "steps": "foreseal_steps_total"}
_METRICS = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n"


class Prober:
    """Submits transactions with one log each at a fixed rate, and receives the log over a subscription."""

    def __init__(self, port: int, wallet: Wallet) -> None:
        self.port = port
        self.creation, contract = wallet.create_logger(1)
        self.filter = {"address": "0x" + contract.hex()}
        self.due: dict[str, float] = {}
        """Time at which a probe was due, by its hash."""
        self.shown: dict[str, float] = {}
        self.faults: list[str] = []
        self._wallet, self._contract = wallet, contract
        self._subscriber: Subscriber | None = None
        self._lane: Lane | None = None

    async def open(self) -> "Prober":
        """Create the contract and subscribe."""
        self._lane = await Lane(self.port).open()
        await deploy(self._lane, self.creation)
        self._subscriber = await Subscriber(self.port, ("pendingLogs", self.filter), self._notified).open()
        return self

    def close(self) -> None:
        """Disconnect."""
        for each in (self._lane, self._subscriber):
            if each is not None:
                each.close()

    async def run(self, probes: int) -> None:
        """Submit this many probes; the phase to the steps changes from one to the next."""
        assert self._lane is not None, "it is open"
        start = time.perf_counter()
        for number in range(probes):
            # Off the step interval by a tenth, so that the delays cover all phases.
            due = start + (number + number % 10 / 10) / PROBES_PER_SECOND
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            signed = self._wallet.call(self._contract, 1)
            self.due[signed.hash] = due
            self._lane.call(call("eth_sendRawTransaction", signed.raw), self._answered)

    def _answered(self, answer: bytes) -> None:
        if b'"error"' in answer:
            self.faults.append(answer[:300].decode(errors="replace"))

    def _notified(self, text: bytes) -> None:
        now = time.perf_counter()
        log = orjson.loads(text)["params"]["result"]
        if log["removed"] or log["transactionHash"] in self.shown:
            self.faults.append(f"a log was removed or repeated: {log}")
        self.shown[log["transactionHash"]] = now


@dataclass
class NodeSample:
    """Sizes and counters of the node at one moment."""

    at: float
    anonymous: int
    resident: int
    cpu: float
    metrics: dict[str, float]


@dataclass
class Watch:
    """Samples each second, and the times of the steps."""

    port: int
    usage: ProcessGroup
    samples: list[NodeSample] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)

    async def run(self, ended: Callable[[], bool]) -> None:
        """Watch until `ended` returns True."""
        watch = await TickWatch(self.port).open()
        due = time.perf_counter()
        while not ended():
            self.samples.append(await self._sample())
            due += 1.0
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
        watch.close()
        self.steps = watch.steps

    async def _sample(self) -> NodeSample:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(_METRICS % self.port)
        text = (await reader.read()).decode()
        writer.close()
        metrics = {name: read_value(text, family) for name, family in (_GAUGES | _COUNTERS).items()}
        usage = self.usage
        return NodeSample(time.perf_counter(), usage.anonymous(), usage.resident(), usage.cpu(), metrics)


def read_value(text: str, family: str) -> float:
    """Return a metric without labels, or the sum over its labels. Raises ValueError if the page does not have it."""
    values = re.findall(rf"^{family}(?:\{{[^}}]*\}})? (\S+)$", text, re.MULTILINE)
    if not values:
        raise ValueError(f"the page of metrics does not have {family}")
    return sum(map(float, values))


def rows(watch: Watch, prober: Prober) -> list[dict[str, Any]]:
    """Return one row for each second: rate, longest interval, longest delay, backlog and memory."""
    intervals, delays = defaultdict[int, float](float), defaultdict[int, float](float)
    start = watch.samples[0].at
    for before, after in pairwise(watch.steps):
        second = int(after - start)
        intervals[second] = max(intervals[second], after - before)
    for name, shown in prober.shown.items():
        second = int(shown - start)
        delays[second] = max(delays[second], shown - prober.due[name])
    series = []
    for number, (before_sample, sample) in enumerate(pairwise(watch.samples)):
        elapsed = sample.at - before_sample.at
        included = sample.metrics["transactions"] - before_sample.metrics["transactions"]
        series.append(
            {
                "second": number + 1,
                "included_per_second": round(included / elapsed),
                "longest_interval_ms": round(intervals[number] * 1000, 1),
                "longest_delay_ms": round(delays[number] * 1000, 1),
                "backlog": round(sample.metrics["backlog"]),
                "anonymous_mb": round(sample.anonymous / 1e6, 1),
                "resident_mb": round(sample.resident / 1e6, 1),
                "cores": round((sample.cpu - before_sample.cpu) / elapsed, 2),
            }
        )
    return series
