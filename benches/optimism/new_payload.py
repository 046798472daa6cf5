"""Duration of `engine_newPayload` for blocks that the node has not seen, as of a driver that derives them from L1."""

import statistics
import time
from pathlib import Path
from typing import Any

from benches.optimism.chains import start_optimism


def measure_new_payload(folder: Path, sizes: list[int], blocks: int) -> list[dict[str, Any]]:
    """Return the figures of blocks of each size: built by one node, and executed by another one in the same order.

    The sizes alternate, so that both meet the same state of the machine.
    """
    builder = start_optimism(folder, "builder")
    built: list[tuple[int, dict[str, Any], str]] = []
    # The first block of each size is the warm-up.
    for _ in range(blocks + 1):
        for size in sizes:
            payload = builder.driver.begin_without_pool(builder.transfers(size))
            block = builder.driver.seal()
            assert len(block["transactions"]) == size + 1, "the block has other transactions than the attributes"
            built.append((size, block, payload.attributes["parentBeaconBlockRoot"]))
    builder.stop()
    verifier = start_optimism(folder, "verifier")
    times: dict[int, list[float]] = {size: [] for size in sizes}
    for size, block, beacon_root in built:
        begun = time.perf_counter()
        verifier.driver.import_payload(block, beacon_root)
        times[size].append(time.perf_counter() - begun)
        verifier.driver.adopt(block)
    verifier.stop()
    return [{"transactions": size, **new_payload_figures(times[size][1:])} for size in sizes]


def new_payload_figures(seconds: list[float]) -> dict[str, Any]:
    """Return count and quantiles in ms of some durations."""
    ordered = sorted(seconds)
    p99 = ordered[min(int(len(ordered) * 0.99), len(ordered) - 1)]
    return {
        "blocks": len(ordered),
        "p50_ms": round(statistics.median(ordered) * 1000, 2),
        "p99_ms": round(p99 * 1000, 2),
        "max_ms": round(ordered[-1] * 1000, 2),
    }
