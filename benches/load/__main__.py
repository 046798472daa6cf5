"""Compare a development node with a bare application under granian, on either transport, and save the figures."""

import argparse
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import orjson
import uvloop
from benches.load.client import CONNECTIONS, run, wait_until_it_answers
from benches.result_file import save

from foreseal.bench.provenance import read_provenance
from foreseal.bench.run_metrics import Latencies, RunMetrics
from foreseal.server.sockets.listening import TRANSPORTS

RESULT = Path(__file__).parents[1] / "results" / "load.json"
PACKAGES = ("granian", "orjson", "uvloop")
ACCOUNT = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
TARGET = 0.9

BODIES = {
    "eth_blockNumber": orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []}),
    "eth_getBalance": orjson.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "eth_getBalance", "params": [ACCOUNT, "latest"]}
    ),
}


@contextmanager
def served(*arguments: str) -> Iterator[int]:
    """Run a server process on a free port for the context, and yield its port once it responds."""
    with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = next((int(match[1]) for line in process.stdout if (match := re.search(r"127\.0\.0\.1:(\d+)", line))), 0)
        if not port:
            raise RuntimeError(f"{arguments} did not start")
        try:
            wait_until_it_answers(port)
            yield port
        finally:
            process.terminate()
            process.communicate(timeout=20)


async def measure(bare: int, nodes: dict[str, int], rounds: int, seconds: float) -> dict[str, list[RunMetrics]]:
    """Run rounds of every side, interleaved so that disturbances of the machine affect all of them."""
    sides = {"bare": (bare, BODIES["eth_blockNumber"])}
    sides |= {f"{name} {transport}": (port, body) for transport, port in nodes.items() for name, body in BODIES.items()}
    measured: dict[str, list[RunMetrics]] = {side: [] for side in sides}
    for number in range(rounds + 1):
        for side, (port, body) in sides.items():
            one = await run(port, body, seconds)
            # The first round is the warm-up.
            if number:
                measured[side].append(one)
                print(f"{side:24} {one.rate:>9,.0f} requests/s", flush=True)
    return measured


def summary(measured: dict[str, list[RunMetrics]]) -> list[dict[str, object]]:
    """Return medians over the rounds; the ratio is the median of the rounds' own ratios to the bare application."""
    results: list[dict[str, object]] = []
    for side, rounds in measured.items():
        ratios = [ours.rate / bare.rate for ours, bare in zip(rounds, measured["bare"], strict=True)]
        latencies = Latencies()
        for one in rounds:
            latencies.add(one.latencies)
        ratio = statistics.median(ratios)
        results.append(
            {
                "name": side,
                "requests_per_second": round(statistics.median(one.rate for one in rounds)),
                "p50_ms": round(latencies.latency_at(0.5), 3),
                "p99_ms": round(latencies.latency_at(0.99), 3),
                "ratio": round(ratio, 3),
                "target": None if side == "bare" else TARGET,
                "reached": side == "bare" or ratio >= TARGET,
            }
        )
    return results


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(prog="python -m benches.load", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--save", type=Path, default=RESULT)
    options = parser.parse_args()
    with ExitStack() as running:
        bare = running.enter_context(served("-m", "benches.load.bare", "0"))
        node = ("-m", "foreseal", "dev", "--port", "0", "--transport")
        nodes = {each: running.enter_context(served(*node, each)) for each in TRANSPORTS}
        measured = uvloop.run(measure(bare, nodes, options.rounds, options.seconds))
    results = summary(measured)
    for result in results:
        print(f"{result['name']:24} {result['requests_per_second']:>9,} requests/s  x{result['ratio']} of bare")
    command = f"python -m benches.load --rounds {options.rounds} --seconds {options.seconds:g}"
    report = read_provenance(command, PACKAGES) | {"connections": CONNECTIONS, "results": results}
    save(report, options.save)
    print(f"saved {options.save}")


if __name__ == "__main__":
    main()
