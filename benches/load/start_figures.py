"""Time until a node and a test chain are usable, memory after many transactions, and a hash called from Python.

python -m benches.load.start_figures [--rounds N] [--transactions N] [--json FILE]
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.python.codec_cases import codec_cases
from benches.python.peer_ratios import measure
from benches.result_file import save

from foreseal.bench.chain_content import ContentShape
from foreseal.bench.content_writer import ContentWriter
from foreseal.bench.peers import KINDS, PeerProcess
from foreseal.bench.process_usage import ProcessGroup
from foreseal.bench.progress import ProgressUpdate
from foreseal.bench.provenance import read_provenance
from foreseal.bench.throughput import KINDS as SENDS
from foreseal.bench.throughput import compare_throughput

RESULT = Path(__file__).parents[1] / "results" / "start_figures.json"
PACKAGES = ("click", "granian", "orjson", "pycryptodome", "uvloop", "web3", "websockets")
ROUNDS, TRANSACTIONS = 9, 180_000
_REPETITIONS = 3
# Content that the transactions need, much less than that of `foreseal bench`.
_BLOCKS, _DENSE = 400, 8
# The store writer follows the journal; memory is read once it has caught up and free memory was returned.
_SETTLING_SECONDS = 12
_MEGABYTE = 1e6
_KECCAK = "keccak_32_bytes"

_FIRST_BLOCK = """
import time
from foreseal.testing import Chain
chain = Chain()
{send}
assert int(chain.rpc("eth_blockNumber"), 16) == 1
print(time.monotonic(), time.process_time())
"""
_SENDS = {
    "foreseal.testing": """
sender, receiver = (account.address for account in chain.accounts[:2])
chain.rpc("eth_sendTransaction", {"from": sender, "to": receiver, "value": "0x1"})
""",
    "foreseal.testing with web3.py": """
from foreseal.testing.web3 import connect
w3 = connect(chain)
w3.eth.wait_for_transaction_receipt(w3.eth.send_transaction({"to": chain.accounts[1].address, "value": 1}))
""",
}


@dataclass(frozen=True, slots=True)
class StartSample:
    """One start, from the command to the first response or block."""

    wall_ms: float
    cpu_ms: float


def started_node() -> StartSample:
    """Start a node with the default transport on a new chain, and stop it."""
    with closing(KINDS["foreseal"]()) as process:
        process.start()
        return StartSample(process.start_ms, _processes(process).cpu() * 1000)


def first_block(send: str) -> StartSample:
    """Start an interpreter that creates a test chain and sends one transaction."""
    began = time.monotonic()
    run = subprocess.run(
        [sys.executable, "-c", _FIRST_BLOCK.replace("{send}", send)], check=True, capture_output=True, text=True
    )
    ended, cpu = map(float, run.stdout.split())
    return StartSample((ended - began) * 1000, cpu * 1000)


def starts(rounds: int) -> list[dict[str, Any]]:
    """Return medians of all kinds of starts over interleaved rounds."""
    kinds: dict[str, Callable[[], StartSample]] = {"foreseal dev": started_node}
    for name, send in _SENDS.items():
        kinds[name] = lambda send=send: first_block(send)  # type: ignore[misc]
    samples: dict[str, list[StartSample]] = {name: [] for name in kinds}
    for number in range(rounds + 1):
        for name, start in kinds.items():
            sample = start()
            # The first round reads the modules from the disk.
            if number:
                samples[name].append(sample)
    return [{"start": name, **summary(group)} for name, group in samples.items()]


def summary(samples: Sequence[StartSample]) -> dict[str, float]:
    """Return the medians, and the shortest time on the clock."""
    return {
        "wall_ms": round(statistics.median(sample.wall_ms for sample in samples), 1),
        "shortest_ms": round(min(sample.wall_ms for sample in samples), 1),
        "cpu_ms": round(statistics.median(sample.cpu_ms for sample in samples), 1),
    }


def memory(transactions: int) -> dict[str, Any]:
    """Send the transactions of the benchmark to a node; return its memory before, after, and once it is idle."""
    with closing(KINDS["foreseal"]()) as process:
        node = process.start()
        idle = _read_memory(process)
        filled = ContentWriter(node, ContentShape(_BLOCKS, _DENSE)).fill(_show)
        each = transactions // (_REPETITIONS * len(SENDS))
        compare_throughput([filled], each, _REPETITIONS, 1, None, _show)
        sent = _read_memory(process)
        time.sleep(_SETTLING_SECONDS)
        sends = each * _REPETITIONS * len(SENDS)
        return {"transactions": sends, "idle": idle, "sent": sent, "settled": _read_memory(process)}


def _read_memory(process: PeerProcess) -> dict[str, float]:
    """Return resident memory, and its part that no file backs: the rest is mapped pages of the store, and code."""
    processes = _processes(process)
    return {
        "resident_mb": round(processes.resident() / _MEGABYTE, 1),
        "anonymous_mb": round(processes.anonymous() / _MEGABYTE, 1),
    }


def _processes(process: PeerProcess) -> ProcessGroup:
    assert process.node is not None
    processes = process.node.processes
    assert processes is not None, "it runs on this machine"
    return processes


def keccak() -> dict[str, object]:
    """Return the time of one hash of 32 bytes called from Python, and its ratio to pycryptodome."""
    return measure(next(case for case in codec_cases() if case.name == _KECCAK))


def _show(update: ProgressUpdate) -> None:
    print(f"\r{update.label}: {update.done}/{update.total} {update.activity:50}", end="", file=sys.stderr, flush=True)


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(prog="python -m benches.load.start_figures", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--transactions", type=int, default=TRANSACTIONS)
    parser.add_argument("--json", type=Path, default=RESULT)
    options = parser.parse_args()
    figures = {"starts": starts(options.rounds), "keccak": keccak(), "memory": memory(options.transactions)}
    print(file=sys.stderr)
    for start in figures["starts"]:
        print(f"{start['start']:32} {start['wall_ms']:8.0f} ms, {start['cpu_ms']:6.0f} ms of processor time")
    print(f"keccak of 32 bytes: {figures['keccak']['ratio']} times pycryptodome")
    for state in ("idle", "sent", "settled"):
        read = figures["memory"][state]
        print(f"{state:8} {read['resident_mb']:6.0f} MB resident, {read['anonymous_mb']:6.0f} MB without files")
    save(read_provenance("python -m benches.load.start_figures", PACKAGES) | figures, options.json)


if __name__ == "__main__":
    main()
