"""Duration of `engine_newPayload` for blocks that another node built, as under a driver that derives them from L1."""

import statistics
import time
from pathlib import Path
from typing import Any

from benches.optimism.chains import start_optimism

from campaign_cli import quantile


def measure_new_payload(folder: Path, sizes: list[int], blocks: int) -> list[dict[str, Any]]:
    """Return the figures of blocks of each size (number of transfers), built by one node and executed by another.

    The sizes alternate, so that the load of the machine affects all of them.
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
        start = time.perf_counter()
        verifier.driver.engine.import_payload(block, beacon_root)
        times[size].append(time.perf_counter() - start)
        verifier.driver.adopt(block)
    verifier.stop()
    return [{"transactions": size, **new_payload_figures(times[size][1:])} for size in sizes]


def new_payload_figures(seconds: list[float]) -> dict[str, Any]:
    """Return count and quantiles in ms of some durations."""
    return {
        "blocks": len(seconds),
        "p50_ms": round(statistics.median(seconds) * 1000, 2),
        "p99_ms": round(quantile(seconds, 0.99) * 1000, 2),
        "max_ms": round(max(seconds) * 1000, 2),
    }
