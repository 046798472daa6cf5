"""Reads per second on a chain of 10,000 blocks from memory, from its store and from a cold store, and its import.

Run from the repository: `python -m benches.python.read_figures`.
"""

import json
import subprocess
from pathlib import Path
from statistics import median

from benches.python.core_figures import CRITERION, nanoseconds
from benches.result_file import save

from foreseal.bench.provenance import read_provenance

RESULT = Path("benches/results/reads.json")
# File in which the suite writes its measurements without criterion.
ONE_PASS = CRITERION.parent / "tmp/reads.json"
SETTINGS = ("memory", "store")
METHODS = (
    "eth_getBlockByNumber",
    "eth_getBlockReceipts",
    "eth_getLogs",
    "eth_getStorageAt",
    "eth_call",
    "eth_estimateGas",
)
MEANING = {
    "memory": "all blocks stay in memory; what of their states has not changed since genesis may come from the store",
    "store": "reopened with the default window, its store in the kernel's cache",
    "per_second": "of one thread; memory and store: criterion's best sample, with the median beside it; cold: the mean",
    "cold": (
        "the kernel's cache of the store dropped before the node opens it, each height read once in one pass without"
        " criterion; pages that the start or an earlier read fetched are warm, and so may be the disk's own cache"
    ),
    "eth_getLogs": "100 blocks by address, 500 logs in the answer",
    "import": "from a file of RLP into an empty folder, every root checked, until the store holds all",
}


def reads(setting: str, method: str) -> dict[str, object]:
    """Return the time of one read and the reads per second of one thread."""
    name = f"reads {setting}/{method}"
    time, sample = nanoseconds(name), json.loads((CRITERION / name / "new" / "sample.json").read_text())
    middle = median(time / count for time, count in zip(sample["times"], sample["iters"], strict=True))
    return {
        "setting": setting,
        "method": method,
        "per_second": round(1e9 / time),
        "best_us": round(time / 1e3, 1),
        "median_us": round(middle / 1e3, 1),
    }


def main() -> None:
    """Run the suite, print a table and save it."""
    subprocess.run(("cargo", "bench", "-p", "foreseal-benches", "--bench", "reads"), check=True)
    one_pass = json.loads(ONE_PASS.read_text())
    warm = [reads(setting, method) for setting in SETTINGS for method in METHODS]
    cold = [{"setting": "cold"} | row for row in one_pass.pop("cold")]
    for row in (*warm, *cold, one_pass):
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    report = read_provenance("python -m benches.python.read_figures", packages=())
    report |= {"meaning": MEANING} | one_pass | {"results": [*warm, *cold]}
    save(report, RESULT)


if __name__ == "__main__":
    main()
