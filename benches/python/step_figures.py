"""Step times over states of 10,000, 100,000 and a million accounts: the ratio of the largest to the smallest state.

Run from the repository: `python -m benches.python.step_figures`.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

from benches.result_file import save

from foreseal.bench.provenance import read_provenance

RESULT = Path("benches/results/step_root.json")
TARGET = 1.5
"""Maximum ratio of step times for a hundred times as many accounts."""
MEANING = {
    "step": "100 plain transfers to accounts anywhere in the state: executed, true roots, in the journal, shown",
    "memory": "the whole state is in memory",
    "store": "what has not changed since genesis is in the store alone, which the kernel has cached",
    "us": "best and median of all steps; the sizes take turns",
}


def compared(lines: list[dict[str, Any]], setting: str) -> dict[str, Any]:
    """Return the median of the largest state divided by that of the smallest."""
    sizes = sorted((line for line in lines if line["setting"] == setting), key=lambda line: line["accounts"])
    smallest, largest = sizes[0], sizes[-1]
    ratio = round(largest["step_us"][1] / smallest["step_us"][1], 2)
    return {"setting": setting, "ratio": ratio, "target": TARGET, "reached": ratio <= TARGET}


def main() -> None:
    """Run the example, print its results and save them."""
    command = ("cargo", "run", "--release", "--quiet", "-p", "foreseal-benches", "--example", "step_sizes")
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    lines = [json.loads(line) for line in output.splitlines()]
    ratios = [compared(lines, setting) for setting in dict.fromkeys(line["setting"] for line in lines)]
    for row in (*lines, *ratios):
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    report = read_provenance("python -m benches.python.step_figures", packages=())
    save(report | {"meaning": MEANING, "ratios": ratios, "results": lines}, RESULT)


if __name__ == "__main__":
    main()
