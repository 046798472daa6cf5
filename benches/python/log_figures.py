"""Log searches: ten hits in ranges of any length, and the cost of the index's chunk size.

Run from the repository: `python -m benches.python.log_figures`.
"""

import json
import subprocess
from pathlib import Path

from benches.python.core_figures import nanoseconds
from benches.result_file import save

from foreseal.bench.provenance import read_provenance

RESULT = Path("benches/results/logs.json")
RANGES = (1, 100, 2_000, 100_000, 200_000)
FILTERS = ("address", "address and topics")


def searches(name: str) -> dict[str, object]:
    """Return search times by length of the range in blocks, and the ratio of the longest range to the shortest."""
    group = f"ten logs by {name}"
    times = {blocks: nanoseconds(f"{group}/{blocks}") for blocks in RANGES}
    return {
        "name": group,
        "ns_by_blocks": {str(blocks): round(time, 1) for blocks, time in times.items()},
        "slowest_to_fastest": round(max(times.values()) / min(times.values()), 2),
    }


def chunks() -> list[dict[str, object]]:
    """Return bytes and times of an index of two million logs, one line per chunk size."""
    command = ("cargo", "run", "--release", "--quiet", "-p", "foreseal-benches", "--example", "log_chunks")
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def main() -> None:
    """Run the suite and the example, print a table and save it."""
    subprocess.run(("cargo", "bench", "-p", "foreseal-benches", "--bench", "log_search"), check=True)
    results = [*map(searches, FILTERS)]
    sizes = chunks()
    for row in (*results, *sizes):
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    report = read_provenance("python -m benches.python.log_figures", packages=())
    report |= {"logs": 1_000_000, "blocks": 200_000, "results": results, "chunks": sizes}
    save(report, RESULT)


if __name__ == "__main__":
    main()
