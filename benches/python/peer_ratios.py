"""Ratios of foreseal to the equivalent PyPI packages in interleaved runs, saved with their origin.

Run from the repository: `python -m benches.python.peer_ratios`.
"""

import gc
from collections.abc import Callable
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

from benches.python.case import Case
from benches.python.codec_cases import codec_cases
from benches.python.execution_cases import execution_cases
from benches.result_file import save

from foreseal.bench.provenance import read_provenance

# Many short rounds: on a busy machine some of them run undisturbed, and the best one counts.
ROUND_SECONDS = 0.002
CASE_SECONDS = 3.0
MOST_ROUNDS, LEAST_ROUNDS = 300, 4
PEERS = ("eth-bloom", "py-evm", "pycryptodome", "rlp", "trie")
RESULT = Path("benches/results/peers.json")


def seconds(function: Callable[[], object], calls: int) -> float:
    """Return the seconds per call over `calls` calls."""
    start = perf_counter()
    for _ in range(calls):
        function()
    return (perf_counter() - start) / calls


def calls_a_round(function: Callable[[], object]) -> tuple[int, float]:
    """Return the number of calls that fill about one round, and their total seconds."""
    function()
    one = seconds(function, 1)
    calls = max(1, int(ROUND_SECONDS / one))
    return calls, calls * one


def measure(case: Case) -> dict[str, object]:
    """Return the best round of each side over interleaved rounds, in microseconds per item, and their ratio."""
    case.compare()
    (ours, our_time), (theirs, their_time) = calls_a_round(case.ours), calls_a_round(case.theirs)
    count = min(MOST_ROUNDS, max(LEAST_ROUNDS, int(CASE_SECONDS / (our_time + their_time))))
    rounds = [(seconds(case.ours, ours), seconds(case.theirs, theirs)) for _ in range(count)]
    best_ours, best_theirs = (min(side) / case.items * 1e6 for side in zip(*rounds, strict=True))
    ratio = best_theirs / best_ours
    return {
        "name": case.name,
        "peer": f"{case.peer} {version(case.peer)}",
        "foreseal_us": round(best_ours, 4),
        "peer_us": round(best_theirs, 4),
        "ratio": round(ratio, 1),
        "target": case.target,
        "reached": case.target is None or ratio >= case.target,
    }


def main() -> None:
    """Measure every case, print a table and save it."""
    gc.disable()
    results = []
    with ExitStack() as chains:
        for case in (*codec_cases(), *execution_cases(chains)):
            result = measure(case)
            results.append(result)
            times = f"{result['foreseal_us']:>12} us {result['peer_us']:>14} us"
            target = f"  target {case.target:g}" if case.target else ""
            print(f"{case.name:28} {times} {result['ratio']:>8} x{target}")
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    report = {**read_provenance("python -m benches.python.peer_ratios", PEERS), "results": results}
    save(report, RESULT)
    print(f"saved {RESULT}")


if __name__ == "__main__":
    main()
