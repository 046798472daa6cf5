"""Tables of the scale model: figures of the files in benches/results, put into the formulas of the page."""

from collections.abc import Mapping
from typing import Any

from result_files import load_if_measured, missing, row

REPLICAS = 1_000
FAN_OUTS = (4, 10, 32, 100, 1_000)
# Load of the design: 170 KB x 5 a second.
STEP_KB, STEPS = 170, 5
ROUND_TRIP_MS = 30
_LINK_MBIT = 1_000


def tree_depth(replicas: int, fan_out: int) -> int:
    """Return the number of hops to the farthest replica of a tree."""
    depth, reached, level = 0, 0, 1
    while reached < replicas:
        level *= fan_out
        reached += level
        depth += 1
    return depth


def inner_nodes(replicas: int, fan_out: int) -> int:
    """Return the number of replicas that serve the feed to others, if each level but the last one is full."""
    depth = tree_depth(replicas, fan_out)
    above = sum(fan_out**level for level in range(1, depth))
    leaves = replicas - above
    return above - fan_out ** (depth - 1) + -(-leaves // fan_out) if depth > 1 else 0


def link_mbit(fan_out: int) -> float:
    """Return the outgoing bandwidth in Mbit/s of a node with this many followers."""
    return fan_out * STEP_KB * STEPS * 8 / 1000


def burst_ms(fan_out: int) -> float:
    """Return the time in ms until the last follower has one step over a link of 1 Gbit/s."""
    return fan_out * STEP_KB * 8 / _LINK_MBIT


def tree() -> str:
    """Return the table of trees; the lag is that of the measured hops."""
    hops = load_if_measured("replica_lag.json").get("hops")
    lines = [
        "| fan-out | depth | replicas that serve others | outgoing, Mbit/s | last follower of a step, ms "
        "| lag at the leaf, p99, ms |",
        "|---|---|---|---|---|---|",
    ]
    for fan_out in FAN_OUTS:
        depth = tree_depth(REPLICAS, fan_out)
        cells = (
            str(fan_out),
            str(depth),
            f"{inner_nodes(REPLICAS, fan_out):,}",
            f"{link_mbit(fan_out):,.0f}",
            f"{burst_ms(fan_out):,.1f}",
            "not measured" if hops is None else f"{tree_lag_ms(hops, fan_out):,.0f}",
        )
        lines.append(row(*cells))
    return "\n".join(lines)


def tree_lag_ms(hops: list[Mapping[str, Any]], fan_out: int) -> float:
    """Return the bound of the lag at a leaf in ms, without the network: p99 of each hop, and the wait of a burst.

    A hop beyond the measured ones has the lag of the last one.
    """
    measured = [float(hop["p99_ms"]) for hop in hops]
    depth = tree_depth(REPLICAS, fan_out)
    return sum(measured[min(level, len(measured) - 1)] + burst_ms(fan_out) for level in range(depth))


def regions() -> str:
    """Return the table of appends with members in one place and in three regions."""
    results = load_if_measured("quorum_cost.json").get("results", [])
    if not results:
        return missing("quorum_cost.json")
    lines = [
        "| step, KB | local journal, p50/p99 ms | members on one machine, p50/p99 ms "
        "| three regions, sequencer in that of the engine's leader | three regions, sequencer in another |",
        "|---|---|---|---|---|",
    ]
    by_size = {(each["step_size"], each["journal"]): each for each in results}
    for size in sorted({each["step_size"] for each in results}):
        local, quorum = by_size[size, "local"], by_size[size, "quorum"]
        median, slow = quorum["append"]["p50_ms"], quorum["append"]["p99_ms"]
        cells = (
            f"{quorum['journal_kb_per_step']:g}",
            f"{local['append']['p50_ms']:g}/{local['append']['p99_ms']:g}",
            f"{median:g}/{slow:g}",
            *(f"{median + trips * ROUND_TRIP_MS:.0f}/{slow + trips * ROUND_TRIP_MS:.0f}" for trips in (1, 2)),
        )
        lines.append(row(*cells))
    return "\n".join(lines)
