"""The load: a process that sends, readers at a fixed rate, and subscribers that count their notifications."""

import json
import os
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import orjson
from benches.load.wallets import MNEMONIC

from foreseal._core import derive_accounts
from foreseal.bench.node import BenchNode, body

SUBSCRIBERS = 200
READS_PER_SECOND = 500.0
_CONNECTIONS = 8
READ_INTERVAL = 30.0
"""Seconds of one row of the figures of reads."""
_ACCOUNTS = 400
_PATIENCE = 60.0


class Sending:
    """A generator of transfers in a process of its own; it sends once it is constructed."""

    def __init__(self, port: int, rate: float, seconds: float) -> None:
        command = [sys.executable, "-m", "benches.sustained.sender", str(port), f"{rate:g}", f"{seconds:g}"]
        # pytest adds folders to the path of this process only.
        path = {"PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | path)
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            self.stop()
            raise RuntimeError("the generator of transfers did not start")

    @property
    def pid(self) -> int:
        """Process id of the generator."""
        return self._process.pid

    def has_ended(self) -> bool:
        """Return True if all transactions are answered."""
        return self._process.poll() is not None

    def figures(self) -> dict[str, Any]:
        """Wait for the end, and return the figures. Raises RuntimeError if it failed."""
        output, _ = self._process.communicate()
        if self._process.returncode:
            raise RuntimeError(f"the generator of transfers failed with {self._process.returncode}")
        figures: dict[str, Any] = json.loads(output)
        return figures

    def stop(self) -> None:
        """End the process."""
        with self._process as process:
            process.kill()


def read_bodies() -> list[bytes]:
    """Return the calls of the readers."""
    bodies = [
        body("eth_blockNumber"),
        body("eth_getBlockByNumber", "pending", False),
        body("eth_getBlockByNumber", "latest", False),
        body("eth_feeHistory", "0x5", "latest", []),
        body("eth_gasPrice"),
    ]
    for address, _ in derive_accounts(MNEMONIC, _ACCOUNTS):
        bodies += [
            body("eth_getBalance", address, "pending"),
            body("eth_getTransactionCount", address, "latest"),
            body("eth_call", {"to": address, "data": "0x"}, "pending"),
        ]
    return bodies


class Readers:
    """Readers in a thread, at a fixed rate regardless of response times, until `stop`."""

    def __init__(self, port: int, interval: float = READ_INTERVAL) -> None:
        """`interval` is the number of seconds of one row."""
        self._interval = interval
        self._node = BenchNode("readers", f"http://127.0.0.1:{port}")
        self._stopped = False
        self._pool = ThreadPoolExecutor(1)
        self._done: Future[list[dict[str, Any]]] = self._pool.submit(self._run)

    def stop(self) -> list[dict[str, Any]]:
        """Stop, and return one row for each interval. Raises BenchError if a response was wrong."""
        self._stopped = True
        self._pool.shutdown()
        return self._done.result()

    def _run(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        bodies = read_bodies()
        while not self._stopped:
            done = self._node.load(bodies, _CONNECTIONS, self._interval, rate=READS_PER_SECOND, patience=_PATIENCE)
            row = {"answered": done.answered, "unanswered": done.unanswered, "errors": done.errors}
            rows.append(row | done.latencies.quantiles())
        return rows


class Subscribers:
    """Subscribers to the logs of the probes, in a thread."""

    def __init__(self, port: int, params: tuple[object, ...], count: int) -> None:
        self._listening = BenchNode("subscribers", f"http://127.0.0.1:{port}").subscribers(count, *params)
        self._pool = ThreadPoolExecutor(1)

    def listen(self, each: int, seconds: float) -> None:
        """Receive this many notifications each, in at most this time."""

        def run() -> dict[str, Any]:
            figures: dict[str, Any] = orjson.loads(self._listening.listen(each, seconds, lambda done: None))
            return figures

        self._done = self._pool.submit(run)

    def arrivals(self) -> dict[str, Any]:
        """Wait for the end, and return the counts."""
        self._pool.shutdown()
        return self._done.result()
