"""Import of chain files: transactions per second and processor time, for blocks of 5, 100 and 1,000 transfers.

Run from the repository: `python -m benches.python.import_figures`.
"""

import json
import subprocess
from pathlib import Path

from benches.python.core_figures import CRITERION
from benches.result_file import save

from foreseal.bench.provenance import read_provenance

RESULT = Path("benches/results/import.json")
# File in which the suite writes its measurements.
MEASURED = CRITERION.parent / "tmp/import.json"
TARGET = 20_000
"""Transactions per second of an import, the store included."""
MEANING = {
    "import": "from a file of RLP into an empty folder, every root checked, until the store holds all",
    "transactions_per_second": "of the fastest round; the chains take turns",
    "cpu_us_per_transaction": "processor time of all threads in the cheapest round; recovering a sender is 35 to 45 us",
}


def main() -> None:
    """Run the suite, print a table and save it."""
    subprocess.run(("cargo", "bench", "-p", "foreseal-benches", "--bench", "import"), check=True)
    rows = json.loads(MEASURED.read_text())["import"]
    for row in rows:
        row["reached"] = row["transactions_per_second"] >= TARGET
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    report = read_provenance("python -m benches.python.import_figures", packages=())
    save(report | {"meaning": MEANING, "target": TARGET, "results": rows}, RESULT)


if __name__ == "__main__":
    main()
