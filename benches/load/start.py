"""Time of a development node from the command to its first response, and its memory when idle."""

import statistics
import time
from pathlib import Path

from benches.load.__main__ import served

from foreseal.bench.process_usage import listening_on
from foreseal.bench.provenance import read_provenance, save

RESULT = Path(__file__).parents[1] / "results" / "start.json"
ROUNDS, IDLE_SECONDS = 7, 10
TARGET_MS, TARGET_MB = 1000, 120


def main() -> None:
    """Measure, print and save."""
    starts = []
    resident = 0.0
    for number in range(ROUNDS):
        began = time.perf_counter()
        with served("-m", "foreseal", "dev", "--port", "0") as port:
            starts.append((time.perf_counter() - began) * 1000)
            if number == ROUNDS - 1:
                time.sleep(IDLE_SECONDS)
                found = listening_on(port)
                assert found is not None, "it runs on this machine"
                resident = found.resident() / 1e6
    median = statistics.median(starts)
    print(f"start to first answer: median {median:.0f} ms of {ROUNDS}; idle after {IDLE_SECONDS} s: {resident:.0f} MB")
    report = read_provenance("python -m benches.load.start", ("granian", "orjson", "uvloop")) | {
        "start_to_first_answer_ms": round(median),
        "longest_ms": round(max(starts)),
        "target_ms": TARGET_MS,
        "idle_resident_mb": round(resident, 1),
        "target_mb": TARGET_MB,
        "reached": median <= TARGET_MS and resident <= TARGET_MB,
    }
    save(report, RESULT)


if __name__ == "__main__":
    main()
