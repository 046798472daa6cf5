"""Ten logs per step to many subscribers of `pendingLogs`: delay, CPU and memory, on each transport and under uvicorn.

A delay runs from the moment at which the core had synced the step to its journal (its log line) to the moment at which
the subscriber's process had the bytes. The subscribers are one other process on the same machine (`crowd.py`); the
result includes its own limit and its share of a core. CPU is that of the whole server process, all threads, minus the
CPU of the same steps without subscribers. A run ends when the server has sent all messages: if it takes longer than the
load, the server could not keep up.
"""

import argparse
import asyncio
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Thread
from typing import Any

import uvloop
from benches.load.client import wait_until_it_answers
from benches.load.lanes import Lane, fail_with, pace, quantiles, until
from benches.load.visible import deploy
from benches.load.wallets import wallets
from benches.result_file import save

from foreseal.bench.process_usage import ProcessGroup
from foreseal.bench.provenance import read_provenance

RESULT = Path(__file__).parents[1] / "results" / "fanout.json"
PACKAGES = ("granian", "uvicorn", "websockets", "orjson", "uvloop")
LOGS, STEP_MS = 10, 200
SERVERS = ("native", "asgi", "uvicorn")
# The limits are far above the defaults, so that they do not affect the result.
CONNECTIONS = 10_000
FILES = 16_384
PATIENCE = 60
# Seconds between checks that the server is idle, and the share of a core below which it is.
LOOK, IDLE = 0.5, 0.06
_DURABLE = re.compile(r"^(\S+Z) +DEBUG .*step is durable .*?hash=(0x[0-9a-f]{64})")
_LISTENS = re.compile(r"http://127\.0\.0\.1:(\d+)")


@dataclass
class Server:
    """A node behind a WebSocket server, in its own process."""

    process: subprocess.Popen[str]
    port: int = 0
    synced: dict[str, float] = field(default_factory=dict)
    """Unix time at which each step was durable, by its hash."""

    @property
    def used(self) -> ProcessGroup:
        """The processes of the server."""
        return ProcessGroup(self.process.pid)

    def read(self) -> None:
        """Read its output to the end."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if match := _DURABLE.match(line):
                self.synced[match[2]] = datetime.fromisoformat(match[1]).timestamp()
            elif not self.port and (listens := _LISTENS.search(line)):
                self.port = int(listens[1])


def command(server: str) -> list[str]:
    """Return the command that starts the server; settings are in the environment."""
    if server != "uvicorn":
        return [sys.executable, "-m", "foreseal", "dev", "--port", "0", "--transport", server]
    options = ["--port", "0", "--ws", "websockets-sansio", "--loop", "uvloop", "--no-access-log"]
    return [sys.executable, "-m", "uvicorn", *options, "foreseal.server:app"]


@contextmanager
def served(server: str) -> Iterator[Server]:
    """Run a development node behind the server for the context."""
    with tempfile.TemporaryDirectory() as datadir:
        environment = {
            **os.environ,
            "FORESEAL_LOG": "debug",
            "FORESEAL_DATADIR": datadir,
            "FORESEAL_STEP": f"{STEP_MS}ms",
            "FORESEAL_MAX_CONNECTIONS": str(CONNECTIONS),
            "FORESEAL_MAX_ADDRESS_CONNECTIONS": str(CONNECTIONS),
        }
        if server == "uvicorn":
            # The name of the command implies it.
            environment["FORESEAL_DEV"] = "1"
        run = subprocess.Popen(
            command(server), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        with run as process:
            started = Server(process)
            reader = Thread(target=started.read)
            reader.start()
            try:
                deadline = time.monotonic() + 20
                while not started.port and process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.02)
                if not started.port:
                    raise RuntimeError(f"{command(server)} did not start")
                wait_until_it_answers(started.port)
                yield started
            finally:
                process.terminate()
                process.wait(timeout=30)
                reader.join()


class Crowd:
    """The process of the subscribers."""

    def __init__(self, port: int, count: int, address: str) -> None:
        params = json.dumps(["pendingLogs", {"address": address}])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benches.load.crowd", str(port), str(count), params],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            raise RuntimeError("the subscribers did not get in")

    def end(self, expected: int) -> dict[str, Any]:
        """End the process once it has this many messages, and return its results."""
        seen, _ = self._process.communicate(f"{expected}\n")
        return json.loads(seen)


async def load(port: int, seconds: float, create: bool) -> str:
    """Send one transaction with ten logs per step for some seconds. Return the contract; `create` creates it."""
    fail_with(asyncio.current_task())
    sender, lane = wallets(1)[0], await Lane(port).open()
    creation, contract = sender.create_logger(LOGS)
    if create:
        await deploy(lane, creation)
    sent = int(await lane.request("eth_getTransactionCount", sender.address, "pending"), 16)
    sender.skip(sent - 1)
    bodies = [
        sender.call(contract, LOGS).call("eth_sendRawTransaction") for _ in range(round(seconds * 1000 / STEP_MS))
    ]

    taken = []

    def answered(answer: bytes) -> None:
        if b'"result"' not in answer:
            raise RuntimeError(f"a transaction was not taken: {answer!r}")
        taken.append(answer)

    await pace(1000 / STEP_MS, [lambda body=body: lane.call(body, answered) for body in bodies])
    if not await until(lambda: len(taken) == len(bodies), PATIENCE):
        raise RuntimeError(f"{len(taken)} of {len(bodies)} transactions were taken")
    lane.close()
    return "0x" + contract.hex()


def loaded(server: Server, seconds: float, create: bool = False) -> tuple[str, float, float]:
    """Run `load`, and wait until the server is idle. Return the contract, seconds of its CPU, and seconds in total."""
    cpu, began = server.used.cpu(), time.monotonic()
    contract = uvloop.run(load(server.port, seconds, create))
    deadline = time.monotonic() + PATIENCE
    while True:
        before = server.used.cpu()
        time.sleep(LOOK)
        if server.used.cpu() - before < IDLE * LOOK or time.monotonic() > deadline:
            return contract, server.used.cpu() - cpu, time.monotonic() - began


def delays(arrived: list[list[Any]], synced: dict[str, float]) -> dict[str, Any]:
    """Return quantiles over all notifications, and their number."""
    delay_counts = [(at - synced[step], count) for member in arrived for at, step, count in member]
    each = [delay for delay, count in delay_counts for _ in range(count)]
    return {"notifications": len(each), "delay": quantiles(each) if each else None}


def measure(kind: str, count: int, seconds: float) -> dict[str, Any]:
    """Return the figures of one server with this many subscribers."""
    with served(kind) as server:
        contract, *_ = loaded(server, 1.0, create=True)
        _, without, alone_for = loaded(server, seconds / 2)
        alone = server.used.resident()
        crowd = Crowd(server.port, count, contract)
        connected = server.used.resident()
        _, with_them, took = loaded(server, seconds)
        busy = server.used.resident()
        expected = count * LOGS * round(seconds * 1000 / STEP_MS)
        seen = crowd.end(expected)
    arrived = delays(seen["arrived"], server.synced)
    used = with_them - without * took / alone_for
    got = arrived["notifications"]
    return {
        "server": kind,
        "subscribers": count,
        "expected": expected,
        **arrived,
        "seconds": round(took, 1),
        "load_seconds": seconds,
        "closed": seen["closed"],
        "server_cores": round(with_them / took, 3),
        "cpu_us_per_notification": round(used / got * 1e6, 2) if got else None,
        "kb_per_subscriber": round((connected - alone) / count / 1000, 1),
        "kb_per_subscriber_loaded": round((busy - alone) / count / 1000, 1),
        "subscribers_cores": round(seen["busy"], 3),
        "subscribers_limit_per_second": seen["limit_per_second"],
    }


def show(figures: dict[str, Any]) -> None:
    """Print one line."""
    delay = figures["delay"] or {"p50_ms": float("nan"), "p99_ms": float("nan")}
    print(
        f"{figures['server']:8} {figures['subscribers']:>5}"
        f"  {figures['notifications']:>9,} of {figures['expected']:>9,}"
        f"  delay {delay['p50_ms']:.1f}/{delay['p99_ms']:.1f} ms  {figures['cpu_us_per_notification']} us each"
        f"  {figures['seconds']} s  {figures['kb_per_subscriber']} KB each  server {figures['server_cores']} cores,"
        f" subscribers {figures['subscribers_cores']}  closed {figures['closed']}",
        flush=True,
    )


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(prog="python -m benches.load.fanout", description=__doc__)
    parser.add_argument("--subscribers", type=int, nargs="+", default=[100, 500, 1_000, 2_000, 4_000])
    parser.add_argument("--servers", nargs="+", choices=SERVERS, default=list(SERVERS))
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--save", type=Path, default=RESULT)
    given = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, most), most))
    results = []
    for kind in given.servers:
        for count in given.subscribers:
            results.append(measure(kind, count, given.seconds))
            show(results[-1])
    command = (
        f"python -m benches.load.fanout --subscribers {' '.join(map(str, given.subscribers))} "
        f"--servers {' '.join(given.servers)} --seconds {given.seconds:g}"
    )
    report = read_provenance(command, PACKAGES) | {"logs_per_step": LOGS, "step_ms": STEP_MS, "results": results}
    save(report, given.save)


if __name__ == "__main__":
    main()
