"""Cost of an OP chain: `engine_newPayload` for blocks of transfers, and steps compared with those of a plain chain.

Both chains run on the same build, under the same driver and on one machine, in interleaved rounds.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from benches.optimism.new_payload import measure_new_payload
from benches.optimism.step_rounds import measure_steps
from benches.result_file import save

from foreseal.bench.provenance import read_provenance

RESULT = Path(__file__).parents[1] / "results" / "optimism_cost.json"
BLOCK_SIZES, STEP_SIZES = (200, 2_000), (100, 1_000, 5_000)


def show(blocks: list[dict[str, Any]], steps: list[dict[str, Any]]) -> None:
    """Print one line for each size."""
    for each in blocks:
        print(
            f"newPayload of {each['transactions']:>5} transfers: p50 {each['p50_ms']} ms, p99 {each['p99_ms']} ms "
            f"({each['blocks']} blocks)"
        )
    for each in steps:
        optimism, plain = each["optimism"], each["plain"]
        print(
            f"step of {each['transactions']:>5} transfers: OP chain {optimism['step_ms']} ms, plain chain "
            f"{plain['step_ms']} ms, ratio {each['ratio']} ({optimism['rounds']} rounds)"
        )


def main() -> int:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(prog="python -m benches.optimism.cost", description=__doc__)
    parser.add_argument("--block-sizes", type=int, nargs="+", default=list(BLOCK_SIZES), help="transfers per block")
    parser.add_argument("--step-sizes", type=int, nargs="+", default=list(STEP_SIZES), help="transfers per step")
    parser.add_argument("--blocks", type=int, default=100, help="blocks of each size")
    parser.add_argument("--rounds", type=int, default=15, help="steps of each size and chain")
    parser.add_argument("--short", action="store_true", help="three blocks and two rounds; saves nothing")
    parser.add_argument("--save", type=Path, help=f"result file, such as {RESULT}")
    arguments = parser.parse_args()
    if arguments.short:
        arguments.blocks, arguments.rounds = 3, 2
    with tempfile.TemporaryDirectory(prefix="foreseal-optimism-cost-") as folder:
        blocks = measure_new_payload(Path(folder), arguments.block_sizes, arguments.blocks)
        steps = measure_steps(Path(folder), arguments.step_sizes, arguments.rounds)
    show(blocks, steps)
    block_sizes, step_sizes = (" ".join(map(str, each)) for each in (arguments.block_sizes, arguments.step_sizes))
    command = (
        f"python -m benches.optimism.cost --block-sizes {block_sizes} --step-sizes {step_sizes}"
        f" --blocks {arguments.blocks} --rounds {arguments.rounds}"
    )
    if arguments.save and not arguments.short:
        save(read_provenance(command, ("orjson",)) | {"new_payload": blocks, "steps": steps}, arguments.save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
