"""Figures of one node with some number of workers, on pinned cores."""

import statistics
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import uvloop
from benches.cluster.histogram import Histogram, read_histogram
from benches.load import workers
from benches.load.wallets import Wallet, wallets
from benches.many_cores.node_processes import CpuReading, NodeProcesses, read_cpu
from benches.many_cores.placement import Placement, pin
from benches.sustained.load import Sending
from benches.sustained.sender import SENDERS

from foreseal.bench.node import BenchNode, body

CONNECTIONS = 16
"""Connections for each worker."""
# Counts down from 10,000 and stops: 260,000 gas.
_LOOP = "0x6127105b6001900380600357"
CALLS: dict[str, tuple[str, list[Any]]] = workers.CALLS | {
    "eth_call": ("eth_call", [{"to": workers.ACCOUNT, "data": "0x"}, "pending"]),
    "eth_call of 260,000 gas": ("eth_call", [{"input": _LOOP}, "pending"]),
}
STEP_FAMILY = "foreseal_step_seconds"
_SETTLING, _IDLE_TIME, _POLLS = 1.0, 2.0, 50
# Accounts of the closed loop, after those of the paced generator.
CLOSED_SENDERS = 32
ACCOUNTS = SENDERS + CLOSED_SENDERS


def read_figures(
    port: int, call: str, seconds: float, rounds: int, at: NodeProcesses, place: Placement
) -> dict[str, Any]:
    """Return rate and processor time of a read, as medians over rounds; the generators are threads of this process."""
    method, params = CALLS[call]
    bodies = [body(method, *params)]
    shares = connection_shares(len(at.workers), place)
    # Observing the node would take time between the starts of the generators.
    url = f"http://127.0.0.1:{port}"
    nodes = [BenchNode(f"generator {number}", url, observe=False) for number in range(len(shares))]
    samples: list[dict[str, float]] = []
    with ThreadPoolExecutor(len(shares)) as pool:
        for _ in range(rounds + 1):
            before, own = _read_all(at), time.process_time()
            began = time.perf_counter()
            done = list(pool.map(lambda node, share: node.load(bodies, share, seconds), nodes, shares))
            elapsed = time.perf_counter() - began
            used, own = _since(at, before), time.process_time() - own
            answered = sum(each.answered for each in done)
            busy = [used[pid] for pid in at.workers]
            samples.append(
                {
                    "requests_per_second": answered / elapsed,
                    "worker_us": sum(each.total for each in busy) / answered * 1e6,
                    "kernel_us": sum(each.kernel for each in busy) / answered * 1e6,
                    "sequencer_us": 0.0 if _is_one(at) else used[at.sequencer].total / answered * 1e6,
                    "workers_cores": sum(each.total for each in busy) / elapsed,
                    "generators_cores": own / elapsed,
                }
            )
    # The first round is the warm-up.
    return {name: round(statistics.median(each[name] for each in samples[1:]), 3) for name in samples[0]}


def connection_shares(workers: int, place: Placement) -> list[int]:
    """Return the connections of each generator: `CONNECTIONS` for each worker, over the cores of the generators."""
    count = CONNECTIONS * workers
    generators = min(len(place.generators), count) if place.is_parallel else 1
    return [count // generators + (number < count % generators) for number in range(generators)]


def send_figures(
    port: int, rate: float, seconds: float, at: NodeProcesses, place: Placement, metrics: str
) -> dict[str, Any]:
    """Return processor time for each transaction, less that of idle processes, and the duration of steps."""
    idle = _idle_cores(at)
    steps = step_histogram(metrics)
    before, began = _read_all(at), time.perf_counter()
    sending = Sending(port, rate, seconds)
    pin(sending.pid, place.generators)
    sent = sending.figures()
    time.sleep(_SETTLING)
    used, elapsed = _since(at, before), time.perf_counter() - began
    count = sent["accepted"]
    sequencer = used[at.sequencer]
    following = [] if _is_one(at) else [used[pid].total - idle[pid] * elapsed for pid in at.workers]
    return {
        "rate": rate,
        "accepted": count,
        "rejected": sent["rejected"],
        "answered": sent["answered"],
        "step": step_histogram(metrics).since(steps).figures(),
        "idle_cores": {
            "sequencer": round(idle[at.sequencer], 4),
            "worker": round(statistics.fmean(idle[pid] for pid in at.workers), 4),
        },
        "sequencer_us": round((sequencer.total - idle[at.sequencer] * elapsed) / count * 1e6, 2),
        "sequencer_busiest_thread_us": round(sequencer.busiest / count * 1e6, 2),
        "sequencer_threads_us": {
            name: round(each / count * 1e6, 2) for name, each in sequencer.by_name().items() if each / count > 1e-7
        },
        "worker_us": round(max(0.0, statistics.fmean(following or [0.0])) / count * 1e6, 2),
    }


def closed_figures(port: int, count: int, polls: int = _POLLS) -> dict[str, Any]:
    """Return the rate of submissions of a closed loop, and the delay until other connections see a submission."""
    sent = _submission_rate(port, wallets(ACCOUNTS)[SENDERS:], count)
    return {"submissions_per_second": round(sent), "until_seen": uvloop.run(workers.follow(port, polls))["until_seen"]}


def step_histogram(url: str) -> Histogram:
    """Return the durations of steps of the process that makes them."""
    with urllib.request.urlopen(url) as answer:
        text = answer.read().decode()
    histogram = read_histogram(
        text.replace(',process="sequencer"', "").replace('{process="sequencer"}', ""), STEP_FAMILY
    )
    if histogram is None:
        raise RuntimeError(f"{url} does not have {STEP_FAMILY}")
    return histogram


def _submission_rate(port: int, senders: list[Wallet], count: int) -> float:
    """Return the submissions per second if every sender sends this many transactions over one connection."""
    bodies = [[sender.sign().call("eth_sendRawTransaction") for _ in range(count)] for sender in senders]

    def load(own: list[bytes]) -> float:
        node = BenchNode(f"port {port}", f"http://127.0.0.1:{port}", observe=False)
        return node.load(own, 1, 120.0, once=True).rate

    with ThreadPoolExecutor(len(senders)) as pool:
        return sum(pool.map(load, bodies))


def _idle_cores(at: NodeProcesses) -> dict[int, float]:
    """Return the share of a core that each process uses without load."""
    before, began = _read_all(at), time.perf_counter()
    time.sleep(_IDLE_TIME)
    used, elapsed = _since(at, before), time.perf_counter() - began
    return {pid: reading.total / elapsed for pid, reading in used.items()}


def _is_one(at: NodeProcesses) -> bool:
    return at.workers == (at.sequencer,)


def _read_all(at: NodeProcesses) -> dict[int, CpuReading]:
    return {pid: read_cpu(pid) for pid in {at.sequencer, *at.workers}}


def _since(at: NodeProcesses, before: dict[int, CpuReading]) -> dict[int, CpuReading]:
    return {pid: reading.since(before[pid]) for pid, reading in _read_all(at).items()}
