"""Requests and submissions per second of a node with more and more workers, on a machine with many cores.

Unlike `benches.load.workers`, one node runs at a time, and several generators load it, each on a thread of its own: one
generator cannot use up more than about three workers.
"""

import argparse
import shutil
import statistics
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import uvloop
from benches.load import workers
from benches.load.wallets import Wallet, wallets
from benches.load.workers import LOGGED, follow, make_chain, served

from foreseal.bench.node import BenchNode
from foreseal.bench.provenance import read_provenance, save

RESULT = Path(__file__).parents[1] / "results" / "scaling.json"
PACKAGES = ("orjson", "uvloop")
# Connections of one generator.
_CONNECTIONS = 16
CALLS = workers.CALLS | {
    "eth_call": ("eth_call", [{"to": workers.ACCOUNT, "data": "0x"}, "pending"]),
    "eth_getLogs": ("eth_getLogs", [{"fromBlock": "0x1", "toBlock": "latest"}]),
}


def generators_of(count: int) -> int:
    """Return the number of generators that saturate this many workers."""
    return max(2, count)


def read_rate(port: int, call: str, seconds: float, generators: int) -> float:
    """Return the requests per second of all generators together."""
    method, params = CALLS[call]
    body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})

    def load(_: int) -> float:
        node = BenchNode(f"port {port}", f"http://127.0.0.1:{port}")
        return node.load([body], _CONNECTIONS, seconds).rate

    with ThreadPoolExecutor(generators) as pool:
        return sum(pool.map(load, range(generators)))


def submission_rate(port: int, senders: list[Wallet], count: int) -> float:
    """Return the submissions per second if every sender sends this many transactions over one connection."""
    bodies = [[sender.sign().call("eth_sendRawTransaction") for _ in range(count)] for sender in senders]

    def load(own: list[bytes]) -> float:
        node = BenchNode(f"port {port}", f"http://127.0.0.1:{port}")
        return node.load(own, 1, 120.0, once=True).rate

    with ThreadPoolExecutor(len(senders)) as pool:
        return sum(pool.map(load, bodies))


def measure(port: int, count: int, options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of one node."""
    generators = generators_of(count)
    figures: dict[str, Any] = {"workers": count, "generators": generators}
    for call in CALLS:
        rounds = [read_rate(port, call, options.seconds, generators) for _ in range(options.rounds)]
        figures[call] = round(statistics.median(rounds))
    figures["submissions"] = round(submission_rate(port, wallets(10)[1:], options.submissions))
    figures["until_seen"] = uvloop.run(follow(port, 100))["until_seen"]
    print(figures, flush=True)
    return figures


def main() -> None:
    """Measure each number of workers, print and save."""
    parser = argparse.ArgumentParser(prog="python -m benches.load.scaling", description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8, 12])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--submissions", type=int, default=1000, help="transactions of each of 9 senders")
    parser.add_argument("--save", type=Path, default=RESULT)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="foreseal-scaling-"))
    production = ("--block-time", "1s", "--step", "200ms", *LOGGED)
    results = []
    try:
        make_chain(folder / "made")
        for count in options.workers:
            datadir = folder / str(count)
            shutil.copytree(folder / "made", datadir)
            arguments = ("run", "--datadir", str(datadir), *production, "--workers", str(count))
            with served(*arguments, workers=count) as port:
                results.append(measure(port, count, options))
    finally:
        shutil.rmtree(folder)
    command = f"python -m benches.load.scaling --workers {' '.join(map(str, options.workers))}"
    save({**read_provenance(command, PACKAGES), "results": results}, options.save)
    print(f"saved {options.save}")


if __name__ == "__main__":
    main()
