"""Reads per second through one process and through workers, and the delay until one worker shows changes of another."""

import argparse
import asyncio
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
import uvloop
from benches.load.client import CONNECTIONS, run
from benches.load.lanes import Lane, quantiles
from benches.load.wallets import wallets
from benches.result_file import save

from foreseal.bench.provenance import read_provenance
from foreseal.bench.run_metrics import Latencies, RunMetrics

RESULT = Path(__file__).parents[1] / "results" / "workers.json"
PACKAGES = ("granian", "orjson", "uvloop")
ACCOUNT = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
CALLS: dict[str, tuple[str, list[Any]]] = {
    "eth_blockNumber": ("eth_blockNumber", []),
    "eth_getBalance": ("eth_getBalance", [ACCOUNT, "pending"]),
    "eth_getBlockByNumber": ("eth_getBlockByNumber", ["pending", True]),
}
# The supervisor logs when a process is ready.
LOGGED = ("--log-level", "warn,foreseal.supervisor=info")
_READY = re.compile(r"process ready")
_URL = re.compile(r"127\.0\.0\.1:(\d+)")
_SECONDS = 60.0


@contextmanager
def served(*arguments: str, workers: int = 1) -> Iterator[int]:
    """Run a node on a free port with this many ready workers; yield its port."""
    with served_process(*arguments, workers=workers) as (port, _):
        yield port


@contextmanager
def served_process(*arguments: str, workers: int = 1) -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    """Run a node on a free port with this many ready workers; yield its port and its first process."""
    command = [sys.executable, "-m", "foreseal", *arguments, "--port", "0"]
    log = tempfile.NamedTemporaryFile("w+", prefix="foreseal-load-")  # noqa: SIM115 (closed below)
    with log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield _wait_for_port(process, Path(log.name), workers), process
        finally:
            process.terminate()
            process.wait(_SECONDS)


def _wait_for_port(process: "subprocess.Popen[bytes]", log: Path, workers: int) -> int:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end and process.poll() is None:
        text = log.read_text()
        match = _URL.search(text)
        if match and (_is_ready(int(match[1])) if workers == 1 else len(_READY.findall(text)) == workers + 1):
            return int(match[1])
        time.sleep(0.05)
    raise RuntimeError(f"it did not start: {log.read_text()}")


def _is_ready(port: int) -> bool:
    with suppress(urllib.error.URLError), urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
        return bool(answer.status == 200)
    return False


def make_chain(folder: Path) -> None:
    """Make a chain of a few blocks with transactions, to be copied for each side."""
    with served("dev", "--datadir", str(folder), "--block-time", "1s", "--step", "50ms") as port:
        uvloop.run(_fill(port))


async def _fill(port: int) -> None:
    lane = await Lane(port).open()
    (wallet,) = wallets(1)
    for _ in range(100):
        await lane.request("eth_sendRawTransaction", wallet.sign().raw)
    start = int(await lane.request("eth_blockNumber"), 16)
    while int(await lane.request("eth_blockNumber"), 16) < start + 2:
        pass
    lane.close()


async def measure(ports: dict[int, int], rounds: int, seconds: float) -> dict[tuple[str, int], list[RunMetrics]]:
    """Run rounds of every side and call, interleaved so that disturbances of the machine affect all of them."""
    measured: dict[tuple[str, int], list[RunMetrics]] = {(name, workers): [] for name in CALLS for workers in ports}
    for number in range(rounds + 1):
        for name, (method, params) in CALLS.items():
            body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
            for workers, port in ports.items():
                one = await run(port, body, seconds)
                # The first round is the warm-up.
                if number:
                    measured[name, workers].append(one)
                    print(f"{name:24} {workers} {one.rate:>9,.0f} requests/s", flush=True)
    return measured


def summary(measured: dict[tuple[str, int], list[RunMetrics]]) -> list[dict[str, object]]:
    """Return medians over the rounds; the ratio is the median of the rounds' own ratios to one process."""
    results: list[dict[str, object]] = []
    for (name, workers), rounds in measured.items():
        ratios = [ours.rate / one.rate for ours, one in zip(rounds, measured[name, 1], strict=True)]
        latencies = Latencies()
        for each in rounds:
            latencies.add(each.latencies)
        results.append(
            {
                "name": name,
                "workers": workers,
                "requests_per_second": round(statistics.median(each.rate for each in rounds)),
                "latency": latencies.quantiles(),
                "ratio": round(statistics.median(ratios), 3),
            }
        )
    return results


async def follow(port: int, count: int) -> dict[str, object]:
    """Send over one connection and poll over many others. Measure the delay until each has the nonce."""
    sending = await Lane(port).open()
    looking = [await Lane(port).open() for _ in range(CONNECTIONS)]
    (wallet,) = wallets(1)
    wallet.skip(await _nonce(sending, wallet.address))
    own = 0
    looks: list[tuple[bool, float]] = []
    for _ in range(count):
        due = await _nonce(sending, wallet.address) + 1
        await sending.request("eth_sendRawTransaction", wallet.sign().raw)
        answered = time.perf_counter()
        own += await _nonce(sending, wallet.address) == due
        looks += await asyncio.gather(*(_seen(lane, wallet.address, due, answered) for lane in looking))
    for lane in (sending, *looking):
        lane.close()
    early = sum(at_once is False for at_once, _ in looks)
    figures = {"submissions": count, "seen_at_once_by_its_own": own, "polls": len(looks), "polls_too_early": early}
    return figures | {"until_seen": quantiles([delay for _, delay in looks])}


async def _seen(lane: Lane, address: str, due: int, since: float) -> tuple[bool, float]:
    """Return True if the first poll saw the nonce, and the seconds after `since` until one did."""
    at_once = True
    while await _nonce(lane, address) < due:
        at_once = False
    return at_once, time.perf_counter() - since


async def _nonce(lane: Lane, address: str) -> int:
    return int(await lane.request("eth_getTransactionCount", address, "pending"), 16)


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(prog="python -m benches.load.workers", description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--submissions", type=int, default=200)
    parser.add_argument("--save", type=Path, default=RESULT)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="foreseal-load-"))
    production = ("--block-time", "1s", "--step", "50ms")
    try:
        make_chain(folder / "made")
        with ExitStack() as stack:
            ports = {}
            for workers in (1, *options.workers):
                datadir = folder / str(workers)
                shutil.copytree(folder / "made", datadir)
                arguments = ("run", "--datadir", str(datadir), *production, *LOGGED, "--workers", str(workers))
                ports[workers] = stack.enter_context(served(*arguments, workers=workers))
            results = summary(uvloop.run(measure(ports, options.rounds, options.seconds)))
            followed = [{"workers": n} | uvloop.run(follow(port, options.submissions)) for n, port in ports.items()]
    finally:
        shutil.rmtree(folder)
    for result in results:
        print(
            f"{result['name']:24} {result['workers']} workers {result['requests_per_second']:>9,} /s x{result['ratio']}"
        )
    for figures in followed:
        print(figures)
    given = f"--workers {' '.join(map(str, options.workers))} --rounds {options.rounds} --seconds {options.seconds:g}"
    command = f"python -m benches.load.workers {given} --submissions {options.submissions}"
    report: dict[str, object] = {
        **read_provenance(command, PACKAGES),
        "connections": CONNECTIONS,
        "cores": os.cpu_count(),
    }
    save(report | {"results": results, "followed": followed}, options.save)
    print(f"saved {options.save}")


if __name__ == "__main__":
    main()
