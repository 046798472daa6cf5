"""A node under measurement in a process of its own."""

import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benches.load.client import wait_until_it_answers

from foreseal.bench.node import BenchNode
from foreseal.bench.process_usage import ProcessGroup

_LISTENS = re.compile(r"http://127\.0\.0\.1:(\d+)")
_BATCH = 100
_START_TIMEOUT, _STOP_TIMEOUT, _POLL = 600.0, 120.0, 0.02

Prefix = Callable[[Sequence[str]], list[str]]


class LaunchedNode:
    """A running node."""

    def __init__(self, port: int, process: "subprocess.Popen[str]") -> None:
        self.client = BenchNode("foreseal", f"http://127.0.0.1:{port}")
        self.port = port
        self.usage = ProcessGroup(process.pid)

    def metrics(self) -> str:
        """Return the page of metrics."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
            return str(answer.read().decode())

    def pooled(self) -> int:
        """Return the number of transactions in the pool."""
        pool = self.client.call("foreseal_status")["pool"]
        return int(pool["pooled"]) + int(pool["queued"])

    def send(self, raw: Sequence[str]) -> None:
        """Submit transactions in batches."""
        for at in range(0, len(raw), _BATCH):
            self.client.call_batch([("eth_sendRawTransaction", [each]) for each in raw[at : at + _BATCH]])

    def wait_until_included(self, limit: int = 0) -> None:
        """Wait until at most `limit` transactions are in the pool."""
        while self.pooled() > limit:
            time.sleep(_POLL)


@contextmanager
def dev_node(datadir: Path, *options: str) -> Iterator[LaunchedNode]:
    """Run a development node for the context, and yield it when it answers."""
    arguments = ("dev", "--port", "0", "--datadir", str(datadir), *options)
    with launched_node(arguments, datadir.parent / "node.log") as node:
        yield node


@contextmanager
def launched_node(arguments: Sequence[str], log: Path, prefix: Prefix = list) -> Iterator[LaunchedNode]:
    """Run `foreseal` for the context, and yield the node when it answers; `prefix` may change the command."""
    command = prefix([sys.executable, "-m", "foreseal", *arguments])
    with log.open("w") as output, subprocess.Popen(command, stdout=output, stderr=output, text=True) as process:
        try:
            port = _port(process, log)
            wait_until_it_answers(port)
            node = LaunchedNode(port, process)
            try:
                yield node
            finally:
                node.client.close()
        finally:
            process.terminate()
            process.wait(_STOP_TIMEOUT)


def _port(process: "subprocess.Popen[str]", log: Path) -> int:
    end = time.monotonic() + _START_TIMEOUT
    while time.monotonic() < end and process.poll() is None:
        if match := _LISTENS.search(log.read_text()):
            return int(match[1])
        time.sleep(_POLL)
    raise RuntimeError(f"the node did not start: {log.read_text()[-2000:]}")
