"""Memory and disk use of etcd members, leader and standby over a long load of 170 KB x 5 a second.

By default a step has 1,000 transfers, about 170 KB. With `--calldata` a step has two transactions with 85 KB of
calldata each: the same bytes for etcd at a fraction of the processor time, for machines that cannot execute the former.
"""

import argparse
import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

import uvloop
from benches.cluster.bench_nodes import BenchNodes, bench_nodes, metrics_page
from benches.cluster.cost_figures import COUNTERS, HISTOGRAMS, read_counter
from benches.cluster.histogram import read_histogram
from benches.cluster.process_sample import sample
from benches.cluster.soak_series import SoakSeries
from benches.cluster.transfer_stream import StreamRecord, TransferStream
from benches.result_file import save

from foreseal.bench.provenance import read_provenance
from foreseal.cluster.node_process import NodeProcess
from transfer_accounts import transfer_accounts

RESULT = Path(__file__).parents[1] / "results" / "cluster_soak.json"
PACKAGES = ("orjson", "uvloop")
STEP_MS, TRANSFERS = 200, 1_000
CALLDATA_SIZE, CALLDATA_TRANSACTIONS = 85_000, 2
HOUR, SHORT = 3600.0, 60.0
_SAMPLE_INTERVAL, _SHOWN_EVERY = 5.0, 60.0
# Bound of the resident memory of a member.
ETCD_BOUND_MB = 512


async def run(
    nodes: BenchNodes, sequencers: list[NodeProcess], seconds: float, calldata: bool
) -> tuple[SoakSeries, StreamRecord]:
    """Load the leader for some seconds, and return the samples and what the load did. Raises RuntimeError."""
    per_step = CALLDATA_TRANSACTIONS if calldata else TRANSFERS
    accounts = transfer_accounts(calldata=os.urandom(CALLDATA_SIZE) if calldata else b"")
    stream = TransferStream(sequencers[0].port, accounts, record=False)
    sending = asyncio.create_task(stream.run(per_step * 1000 / STEP_MS, seconds))
    series, began, shown = SoakSeries(), time.perf_counter(), 0.0
    while not sending.done():
        elapsed = time.perf_counter() - began
        members = [sample(member, member.folder) for member in nodes.etcd.members]
        series.add(elapsed, [*members, *(sample(each, each.datadir) for each in sequencers)])
        if elapsed - shown >= _SHOWN_EVERY:
            shown = elapsed
            print(f"{elapsed:.0f} s: " + show_samples(series), flush=True)
        for process in (*nodes.etcd.members, *sequencers):
            process.check_running()
        await asyncio.wait([sending], timeout=_SAMPLE_INTERVAL)
    return series, await sending


def show_samples(series: SoakSeries) -> str:
    """Return the newest samples as text."""
    return ", ".join(
        f"{each.name} {each.resident / 1e6:.0f} MB ({each.anonymous / 1e6:.0f} anonymous), "
        f"{each.disk / 1e6:.0f} MB on disk"
        for each in series.samples[-1]
    )


def leader_figures(leader: NodeProcess) -> dict[str, Any]:
    """Return counts and durations of the leader's steps."""
    text = metrics_page(leader)
    figures: dict[str, Any] = {name: read_counter(text, family) for name, family in COUNTERS.items()}
    for name, family in HISTOGRAMS.items():
        if (histogram := read_histogram(text, family)) is not None:
            figures[name] = histogram.figures()
    return figures


def main() -> int:
    """Run, print and save; return 1 if a member exceeded its bound."""
    parser = argparse.ArgumentParser(prog="python -m benches.cluster.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=HOUR)
    parser.add_argument("--calldata", action="store_true", help="two transactions of 85 KB per step")
    parser.add_argument("--etcd", help="program of the etcd members; default: etcd on the PATH")
    parser.add_argument("--short", action="store_true", help=f"{SHORT:g} seconds; saves nothing")
    parser.add_argument("--save", type=Path, help=f"result file, such as {RESULT}")
    given = parser.parse_args()
    seconds = SHORT if given.short and given.seconds == HOUR else given.seconds
    options = ("--step", f"{STEP_MS}ms", "--block-time", "1s")
    with bench_nodes(given.etcd) as nodes:
        version = nodes.etcd.version_text
        sequencers = [
            nodes.sequencer("leader", options=options),
            nodes.sequencer("standby", standby=True, options=options),
        ]
        nodes.start(*sequencers)
        series, done = uvloop.run(run(nodes, sequencers, seconds, given.calldata))
        leader = leader_figures(sequencers[0])
        epoch = sequencers[0].cluster_status().get("epoch")
    summary = series.summary()
    worst = max(summary[member.name]["resident_mb"]["max"] for member in nodes.etcd.members)
    for name, figures in summary.items():
        print(f"{name:10} {figures}")
    print(f"leader: {leader}; accepted {done.accepted}, rejected once {done.rejected}, epoch {epoch}")
    command = f"python -m benches.cluster.soak --seconds {seconds:g}" + (" --calldata" if given.calldata else "")
    if given.save and not given.short:
        report = read_provenance(command, PACKAGES) | {"etcd": version, "step_ms": STEP_MS, "calldata": given.calldata}
        counts = {"accepted": done.accepted, "rejected_once": done.rejected, "epoch": epoch, "leader": leader}
        save(report | counts | {"processes": summary, "series": series.rows()}, given.save)
    if worst > ETCD_BOUND_MB:
        print(f"a member of etcd used {worst} MB, more than {ETCD_BOUND_MB} MB")
    return 1 if worst > ETCD_BOUND_MB else 0


if __name__ == "__main__":
    sys.exit(main())
