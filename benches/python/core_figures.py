"""Figures of hashing, tries and steps: criterion with peers in one run, and the memory of a million accounts.

Run from the repository: `python -m benches.python.core_figures`.
"""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from foreseal.bench.provenance import read_provenance, save

RESULT = Path("benches/results/core.json")
CRITERION = Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "criterion"
SUITES = ("keccak", "rlp", "trie", "execution", "step")
CRATES = ("alloy-primitives", "alloy-rlp", "alloy-trie", "criterion", "rayon", "revm", "triomphe")
MILLISECOND, MEGABYTE = 1e6, 1e6
STEP = "step of ERC-20 transfers, a million accounts"


@dataclass(frozen=True)
class Figure:
    """A criterion benchmark, its peer, and its limit in nanoseconds."""

    name: str
    peer: str | None = None
    target_ns: float | None = None


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
    *(Figure(f"step_of_1000/{n}", f"step_of_1000/{n}_plain_revm") for n in ("transfers", "erc20_transfers")),
    Figure(f"{STEP}/1000, roots and journal sync", target_ns=12 * MILLISECOND),
    Figure(f"{STEP}/5000, roots and journal sync", target_ns=50 * MILLISECOND),
)
TARGET_MEMORY = 300 * MEGABYTE


def nanoseconds(name: str) -> float:
    """Return nanoseconds per iteration in the best sample of the newest run: other work only ever adds time."""
    sample = json.loads((CRITERION / name / "new" / "sample.json").read_text())
    return min(time / count for time, count in zip(sample["times"], sample["iters"], strict=True))


def measured(figure: Figure) -> dict[str, object]:
    """Return a figure and its ratio to the peer: the peer's time divided by ours."""
    ours = nanoseconds(figure.name)
    result: dict[str, object] = {"name": figure.name, "ns": round(ours, 1)}
    if figure.peer is not None:
        theirs = nanoseconds(figure.peer)
        result |= {"peer": figure.peer, "peer_ns": round(theirs, 1), "ratio": round(theirs / ours, 2)}
    if figure.target_ns is not None:
        result |= {"target_ns": figure.target_ns, "reached": ours <= figure.target_ns}
    return result


def memory() -> dict[str, object]:
    """Return the resident size of the state of a million accounts."""
    command = ("cargo", "run", "--release", "--quiet", "-p", "foreseal-benches", "--example", "trie_memory")
    output = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    size = output["resident_bytes"]
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
    for result in results:
        print("  ".join(f"{key} {value}" for key, value in result.items()))
    report = read_provenance("python -m benches.python.core_figures", packages=()) | {
        "crates": crates(),
        "results": results,
    }
    save(report, RESULT)


if __name__ == "__main__":
    main()
