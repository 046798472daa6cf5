"""Cost of signed steps, by criterion: the signature alone, and an append with and without it.

Run from the repository: `python -m benches.python.signing_figures`.
"""

import subprocess
from pathlib import Path

from benches.python.core_figures import Figure, measured
from benches.result_file import save

from foreseal.bench.provenance import read_provenance

RESULT = Path("benches/results/signing.json")
FIGURES = (
    Figure("signing/sign a step"),
    Figure("signing/recover its signer"),
    Figure("signing/append a step of 100 transfers"),
    Figure("signing/sign and append a step of 100 transfers", "signing/append a step of 100 transfers"),
)


def main() -> None:
    """Run the suite, print a table and save it."""
    subprocess.run(("cargo", "bench", "-p", "foreseal-benches", "--bench", "signing"), check=True)
    results = [measured(figure) for figure in FIGURES]
    for result in results:
        print("  ".join(f"{key} {value}" for key, value in result.items()))
    report = read_provenance("python -m benches.python.signing_figures", packages=()) | {"results": results}
    save(report, RESULT)


if __name__ == "__main__":
    main()
