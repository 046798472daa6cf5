"""A node with 1 to 12 workers on pinned cores, on both transports.

With enough cores, sequencer, workers and generators have cores of their own, and the rates are the result. On fewer
cores the workers share half of them: then only processor times are. `asgi` supports one process.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benches.load.launched_node import dev_node
from benches.load.workers import LOGGED, served_process
from benches.many_cores.charts import charts
from benches.many_cores.measurement import ACCOUNTS, CALLS, closed_figures, read_figures, send_figures
from benches.many_cores.node_processes import find_processes, wait_until_loaded
from benches.many_cores.placement import pin, place
from benches.many_cores.send_cost import max_workers, per_added_core, send_cost
from benches.result_file import save

from foreseal.bench.provenance import read_provenance
from foreseal.ports import next_free_port
from foreseal.server.sockets.listening import ASGI, NATIVE

PLOT = Path(__file__).parents[2] / "docs" / "images" / "many_cores.svg"
PACKAGES = ("granian", "orjson", "uvloop")
WORKERS, SHORT_WORKERS = (1, 2, 4, 8, 12), (1, 2)
_PRODUCTION = ("--block-time", "1s", "--step", "200ms", *LOGGED)
_GAS_LIMIT = ("--gas-limit", "2000000000")


def measure_node(folder: Path, transport: str, workers: int, given: argparse.Namespace) -> dict[str, Any]:
    """Run a node with this many workers on a copy of the chain, and return its figures."""
    datadir = folder / f"{transport}-{workers}"
    shutil.copytree(folder / "chain", datadir)
    arguments = ["run", "--datadir", str(datadir), *_PRODUCTION, *_GAS_LIMIT, "--transport", transport]
    metrics_path = ""
    if workers > 1:
        # With workers, only the admin listener has the metrics of the sequencer.
        admin = f"127.0.0.1:{next_free_port()}"
        arguments += ["--workers", str(workers), "--admin", admin]
        metrics_path = f"http://{admin}/metrics"
    cores = sorted(os.sched_getaffinity(0))
    where = place(cores, workers)
    with served_process(*arguments, workers=workers) as (port, process):
        processes = find_processes(process.pid)
        wait_until_loaded(processes)
        pin(processes.sequencer, where.sequencer if workers > 1 else where.workers[0])
        for pid, own in zip(processes.workers, where.workers, strict=True):
            pin(pid, own)
        pin(os.getpid(), where.generators)
        try:
            figures: dict[str, Any] = {"transport": transport, "workers": workers, "placement": where.figures()}
            figures["reads"] = {
                call: read_figures(port, call, given.seconds, given.rounds, processes, where) for call in CALLS
            }
            metrics = metrics_path or f"http://127.0.0.1:{port}/metrics"
            figures["sends"] = send_figures(port, given.rate, given.send_seconds, processes, where, metrics)
            for pid in (processes.sequencer, *processes.workers, os.getpid()):
                pin(pid, cores)
            figures |= closed_figures(port, given.submissions)
        finally:
            pin(os.getpid(), cores)
    print({name: value for name, value in figures.items() if name != "placement"}, flush=True)
    shutil.rmtree(datadir)
    return figures


def summary(results: Sequence[dict[str, Any]], rate: float) -> dict[str, Any]:
    """Return the scaling of reads and the cost of a transaction, of the native transport.

    Reads scale only where each worker has a core of its own; elsewhere `per_added_core` is empty.
    """
    native = [each for each in results if each["transport"] == NATIVE]
    one = next(each for each in native if each["workers"] == 1)
    several = [each for each in native if each["workers"] > 1]
    scaled = [
        {
            "workers": each["workers"],
            **{call: round(_per_added_core(each, one, call), 3) for call in CALLS},
        }
        for each in several
        if each["placement"]["is_parallel"]
    ]
    cost = send_cost(
        [
            {
                "workers": each["workers"],
                "sequencer": each["sends"]["sequencer_us"] / 1e6,
                "serial": each["sends"]["sequencer_busiest_thread_us"] / 1e6,
                "worker": each["sends"]["worker_us"] / 1e6,
            }
            for each in several
        ]
    )
    return {
        "per_added_core": scaled,
        "rate": rate,
        "send_us": cost.figures(),
        "max_workers_of_one_core": max_workers(rate, cost),
    }


def _per_added_core(figures: dict[str, Any], one: dict[str, Any], call: str) -> float:
    rate, rate_of_one = (each["reads"][call]["requests_per_second"] for each in (figures, one))
    return per_added_core(figures["workers"], rate, rate_of_one)


def measure(folder: Path, workers: Sequence[int], given: argparse.Namespace) -> dict[str, Any]:
    """Measure each number of workers on `native` and one process on `asgi`. Return the report without its origin."""
    with dev_node(folder / "chain", "--accounts", str(ACCOUNTS), *_GAS_LIMIT) as node:
        node.client.call("eth_blockNumber")
    results = [measure_node(folder, NATIVE, count, given) for count in workers]
    results.append(measure_node(folder, ASGI, 1, given))
    return {"cores": len(os.sched_getaffinity(0)), "results": results} | summary(results, given.rate)


def main() -> int:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(prog="python -m benches.many_cores", description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=list(WORKERS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of one round of reads")
    parser.add_argument("--rate", type=float, default=1_000.0, help="transfers a second while steps are measured")
    parser.add_argument("--send-seconds", type=float, default=20.0)
    parser.add_argument("--submissions", type=int, default=1_000, help="transactions of each of 32 senders")
    parser.add_argument("--short", action="store_true", help="one and two workers, a second each; saves nothing")
    parser.add_argument("--save", type=Path, help="result file")
    given = parser.parse_args()
    if given.short:
        given.workers, given.rounds, given.seconds = list(SHORT_WORKERS), 1, 0.3
        given.rate, given.send_seconds, given.submissions = 200.0, 3.0, 50
    with tempfile.TemporaryDirectory(prefix="foreseal-cores-") as folder:
        figures = measure(Path(folder), given.workers, given)
    print({name: value for name, value in figures.items() if name != "results"})
    if given.save and not given.short:
        command = f"python -m benches.many_cores --workers {' '.join(map(str, given.workers))} --rate {given.rate:g}"
        save(read_provenance(command, PACKAGES) | figures, given.save)
        PLOT.write_text(charts(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
