"""Figures of hashing, tries and steps: criterion with peers in one run, a step by part, the memory of an account.

Run from the repository: `python -m benches.python.core_figures`.
"""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.result_file import save

from foreseal.bench.provenance import read_provenance

RESULT = Path("benches/results/core.json")
CRITERION = Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "criterion"
SUITES = ("keccak", "rlp", "trie", "execution", "step")
CRATES = ("alloy-primitives", "alloy-rlp", "alloy-trie", "criterion", "rayon", "revm", "triomphe")
MILLISECOND, MEGABYTE = 1e6, 1e6
STEP = "step of ERC-20 transfers, a million accounts"


@dataclass(frozen=True)
class Figure:
    """A criterion benchmark, its peer, its limit in nanoseconds, and its lowest ratio to the peer."""

    name: str
    peer: str | None = None
    target_ns: float | None = None
    target_ratio: float | None = None


FIGURES = (
    *(Figure(f"keccak_{n}_bytes_x256/batch", f"keccak_{n}_bytes_x256/single") for n in (20, 32, 110, 532)),
    Figure("bloom_of_100_logs/foreseal", "bloom_of_100_logs/alloy"),
    Figure("rlp_encode_1559"),
    Figure("rlp_decode_1559"),
    Figure("state_root_of_a_million/10_changed", target_ns=0.1 * MILLISECOND),
    Figure("state_root_of_a_million/1000_changed", target_ns=2.5 * MILLISECOND),
    Figure("state_root_of_a_million/5000_changed"),
    Figure("root_of_10000_from_nothing/foreseal", "root_of_10000_from_nothing/alloy"),
    Figure("list_root_of_5000/foreseal_at_once", "list_root_of_5000/alloy_at_once"),
    Figure("list_root_of_5000/foreseal_last_500_appended", "list_root_of_5000/alloy_at_once"),
    Figure("step_of_1000/transfers", "step_of_1000/transfers_plain_revm", target_ratio=round(1 / 1.2, 2)),
    Figure("step_of_1000/erc20_transfers", "step_of_1000/erc20_transfers_plain_revm", target_ratio=round(1 / 1.4, 2)),
    Figure(f"{STEP}/1000, roots and journal sync", target_ns=12 * MILLISECOND),
    Figure(f"{STEP}/5000, roots and journal sync", target_ns=50 * MILLISECOND),
)
TARGET_MEMORY = 300 * MEGABYTE


def nanoseconds(name: str) -> float:
    """Return nanoseconds per iteration in the best sample of the newest run: other work only ever adds time."""
    sample = json.loads((CRITERION / name / "new" / "sample.json").read_text())
    best: float = min(time / count for time, count in zip(sample["times"], sample["iters"], strict=True))
    return best


def measured(figure: Figure) -> dict[str, object]:
    """Return a figure and its ratio to the peer: the peer's time divided by ours."""
    ours = nanoseconds(figure.name)
    result: dict[str, object] = {"name": figure.name, "ns": round(ours, 1)}
    if figure.peer is not None:
        theirs = nanoseconds(figure.peer)
        ratio = round(theirs / ours, 2)
        result |= {"peer": figure.peer, "peer_ns": round(theirs, 1), "ratio": ratio}
        if figure.target_ratio is not None:
            result |= {"target_ratio": figure.target_ratio, "reached": ratio >= figure.target_ratio}
    if figure.target_ns is not None:
        result |= {"target_ns": figure.target_ns, "reached": ours <= figure.target_ns}
    return result


def example(name: str) -> list[dict[str, Any]]:
    """Return the JSON lines that an example prints."""
    command = ("cargo", "run", "--profile", "dist", "--quiet", "-p", "foreseal-benches", "--example", name)
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def memory() -> dict[str, object]:
    """Return the resident size of the state of a million accounts."""
    size = example("trie_memory")[0]["resident_bytes"]
    return {
        "name": "memory_of_a_million_accounts",
        "bytes": size,
        "target_bytes": TARGET_MEMORY,
        "reached": size <= TARGET_MEMORY,
    }


def crates() -> dict[str, str]:
    """Return the versions of the crates that the figures depend on."""
    locked = dict(re.findall(r'name = "(.+)"\nversion = "(.+)"', Path("Cargo.lock").read_text()))
    return {crate: locked[crate] for crate in CRATES}


def main() -> None:
    """Run the suites, print a table and save it."""
    benches = [argument for suite in SUITES for argument in ("--bench", suite)]
    subprocess.run(("cargo", "bench", "--profile", "dist", "-p", "foreseal-benches", *benches), check=True)
    results = [*map(measured, FIGURES), memory()]
    parts = example("step_parts")
    for result in (*results, *parts):
        print("  ".join(f"{key} {value}" for key, value in result.items()))
    report = read_provenance("python -m benches.python.core_figures", packages=()) | {
        "crates": crates(),
        "results": results,
        "step_parts": parts,
    }
    save(report, RESULT)


if __name__ == "__main__":
    main()
