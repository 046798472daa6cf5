"""Cost of the quorum journal: one node with a local journal and one with three etcd members, in interleaved rounds.

Both nodes, the etcd members and the generator share one machine and one disk. A round sends transfers at the rate that
fills steps of the given size, from fixed times on, and counts each delay from the time at which a transaction was due.
`etcd_cpu_ms_per_step` of the local rounds is what the members use without appends.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import uvloop
from benches.cluster.bench_nodes import BenchNodes, bench_nodes
from benches.cluster.cost_figures import CostRounds, run_round
from benches.cluster.transfer_stream import request_body
from benches.result_file import save

from foreseal.bench.node import BenchNode
from foreseal.bench.provenance import read_provenance
from foreseal.cluster.node_process import NodeProcess
from transfer_accounts import TransferAccount, transfer_accounts

RESULT = Path(__file__).parents[1] / "results" / "quorum_cost.json"
PACKAGES = ("orjson", "uvloop")
SIZES = (100, 1_000, 5_000)
# A two-core machine cannot execute 25,000 transfers a second next to three members: larger steps are longer.
MAX_RATE = 10_000
STEP_MS = 200
# Closed loop of submissions, one transaction per call.
CONNECTIONS, BURST = 16, 4_000
_BURST_TIMEOUT = 60.0
_BLOCK_TIME = "1s"


def step_ms(size: int) -> int:
    """Return the step interval in ms at which steps of this size need at most the maximum rate."""
    return max(STEP_MS, size * 1000 // MAX_RATE)


def sends_per_second(node: NodeProcess, accounts: list[TransferAccount], count: int) -> float:
    """Return the rate at which a node accepts submissions of many connections. Raises BenchError."""
    chosen = accounts[:CONNECTIONS]
    turns = max(1, count // len(chosen))
    for account in chosen:
        account.sign(turns)
    # The n-th body goes to connection n mod CONNECTIONS, so that the nonces of an account arrive in order.
    bodies = [request_body([account.pop()]) for _ in range(turns) for account in chosen]
    client = BenchNode(node.name, node.url)
    try:
        return client.load(bodies, len(chosen), _BURST_TIMEOUT, once=True).rate
    finally:
        client.close()


def measure(nodes: BenchNodes, size: int, rounds: int, seconds: float, burst: int) -> list[dict[str, Any]]:
    """Return the figures of both journals with one step size."""
    step = step_ms(size)
    options = ("--step", f"{step}ms", "--block-time", _BLOCK_TIME)
    # Each size has a chain of its own in the engine.
    quorum = nodes.sequencer(f"quorum-{size}", options=options, prefix=f"size-{size}")
    sides = {"local": nodes.local(f"local-{size}", options), "quorum": quorum}
    nodes.start(*sides.values())
    accounts = {name: transfer_accounts() for name in sides}
    costs = {name: CostRounds() for name in sides}
    rate = size * 1000 / step
    for number in range(rounds + 1):
        # The order changes, so that no side is always the first.
        for name in sorted(sides, reverse=bool(number % 2)):
            one = uvloop.run(run_round(sides[name], nodes.etcd, accounts[name], rate, seconds))
            one.sends_per_second = sends_per_second(sides[name], accounts[name], burst)
            # The first round is the warm-up.
            if number:
                costs[name].rounds.append(one)
    for node in sides.values():
        node.stop()
    same = {"step_size": size, "step_ms": step, "rate_per_second": round(rate)}
    return [{"journal": name, **same, **each.figures()} for name, each in costs.items()]


def show(figures: dict[str, Any]) -> None:
    """Print one line."""
    visible, append = figures["submit_until_visible"], figures["append"]
    print(
        f"{figures['journal']:7} {figures['step_size']:>5} per step of {figures['step_ms']} ms"
        f"  ({figures['transactions_per_step']} measured, {figures['journal_kb_per_step']} KB)"
        f"  visible {visible['p50_ms']:.0f}/{visible['p99_ms']:.0f} ms  append {append['p50_ms']}/{append['p99_ms']} ms"
        f"  node {figures['node_cpu_ms_per_step']} ms, etcd {figures['etcd_cpu_ms_per_step']} ms of processor a step"
        f"  sends/s {figures['sends_per_second']}",
        flush=True,
    )


def main() -> int:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(prog="python -m benches.cluster.quorum_cost", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="transactions per step")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--burst", type=int, default=BURST, help="submissions of the closed loop in each round")
    parser.add_argument("--etcd", help="program of the etcd members; default: etcd on the PATH")
    parser.add_argument("--short", action="store_true", help="one round of two seconds; saves nothing")
    parser.add_argument("--save", type=Path, help=f"result file, such as {RESULT}")
    given = parser.parse_args()
    if given.short:
        given.rounds, given.seconds, given.burst = 1, 2.0, 500
    results: list[dict[str, Any]] = []
    with bench_nodes(given.etcd) as nodes:
        version = nodes.etcd.version_text
        for size in given.sizes:
            for figures in measure(nodes, size, given.rounds, given.seconds, given.burst):
                results.append(figures)
                show(figures)
    sizes = " ".join(map(str, given.sizes))
    command = (
        f"python -m benches.cluster.quorum_cost --sizes {sizes} --rounds {given.rounds} --seconds {given.seconds:g}"
        f" --burst {given.burst}"
    )
    if given.save and not given.short:
        save(read_provenance(command, PACKAGES) | {"etcd": version, "members": 3, "results": results}, given.save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
