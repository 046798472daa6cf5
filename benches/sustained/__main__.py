"""Half an hour of transfers at 80 % of the highest rate, with readers and 200 subscribers, on one node.

The highest rate is found first, under the same readers, and confirmed by trials of three minutes. Node, generators and
subscribers share the machine. Samples of each second are saved, and plots are written to docs/images/sustained.svg.
"""

import argparse
import asyncio
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import uvloop
from benches.load.lanes import fail_with, until
from benches.load.launched_node import LaunchedNode, dev_node
from benches.load.wallets import Wallet, wallets
from benches.result_file import save
from benches.sustained.figures import STEP_MS, charts, summary
from benches.sustained.load import READ_INTERVAL, READS_PER_SECOND, SUBSCRIBERS, Readers, Sending, Subscribers
from benches.sustained.search import FIRST_RATE, Trial, confirm, find_highest, wait_until
from benches.sustained.sender import SENDERS
from benches.sustained.watch import PROBES_PER_SECOND, Prober, Watch, rows

from foreseal.bench.provenance import read_provenance

ROOT = Path(__file__).parents[2]
PLOT = ROOT / "docs" / "images" / "sustained.svg"
PACKAGES = ("orjson", "uvloop")
MINUTES, SHORT_SECONDS, SHORT_RATE = 30.0, 12.0, 300.0
SHARE = 0.8
# In shorter trials, a rate passes that the store does not keep up with.
_TRIAL_SECONDS, _LONG_TRIAL_SECONDS, _DRAIN_TIMEOUT = 40.0, 180.0, 30.0
_SHOWN_TIMEOUT = 60.0
_OPTIONS = ("--accounts", str(SENDERS + 2), "--gas-limit", "2000000000", "--step", f"{STEP_MS}ms")


def find_rate(node: LaunchedNode, first: float) -> tuple[float, list[Trial]]:
    """Return the highest rate of transfers, and the trials, under readers."""
    readers = Readers(node.port, _TRIAL_SECONDS)
    try:
        rate, short = find_highest(lambda rate: _attempt(node, rate, _TRIAL_SECONDS), first)
        rate, long = confirm(lambda rate: _attempt(node, rate, _LONG_TRIAL_SECONDS), rate)
        return rate, short + long
    finally:
        readers.stop()


def _attempt(node: LaunchedNode, rate: float, seconds: float) -> Trial:
    sent = Sending(node.port, rate, seconds).figures()
    drain = wait_until(lambda: not node.pooled(), _DRAIN_TIMEOUT)
    # The next trial begins with an idle store.
    store_delay = wait_until(lambda: not node.client.call("foreseal_status")["store"]["backlog"], _DRAIN_TIMEOUT)
    late, answered = sent["late"]["p99_ms"], sent["answered"]["p99_ms"]
    trial = Trial(rate, seconds, late, answered, sent["rejected"], drain, store_delay)
    print(trial.figures(), flush=True)
    return trial


async def run(node: LaunchedNode, rate: float, seconds: float, wallet: Wallet, subscribers: int) -> dict[str, Any]:
    """Load the node for some seconds, and return the figures."""
    fail_with(asyncio.current_task())
    prober = await Prober(node.port, wallet).open()
    probes = round(seconds * PROBES_PER_SECOND)
    with ExitStack() as stack:
        listening = Subscribers(node.port, ("pendingLogs", prober.filter), subscribers)
        listening.listen(probes, seconds + _SHOWN_TIMEOUT)
        readers = Readers(node.port, min(READ_INTERVAL, seconds))
        stack.callback(readers.stop)
        sending = await asyncio.to_thread(Sending, node.port, rate, seconds)
        stack.callback(sending.stop)
        watch = Watch(node.port, node.usage)
        watching = asyncio.create_task(watch.run(sending.has_ended))
        await prober.run(probes)
        await until(lambda: len(prober.shown) >= probes, _SHOWN_TIMEOUT)
        await watching
        sent = await asyncio.to_thread(sending.figures)
        reads = await asyncio.to_thread(readers.stop)
        arrivals = await asyncio.to_thread(listening.arrivals)
    prober.close()
    series = rows(watch, prober)
    faults = list(prober.faults)
    if (arrivals["min"], arrivals["max"]) != (probes, probes) or arrivals["ended"]:
        faults.append(f"subscribers got {arrivals['min']} to {arrivals['max']} of {probes} notifications")
    return {
        "seconds": seconds,
        "rate": round(rate),
        "sent": sent,
        "subscribers": {"count": subscribers, "notifications": arrivals["notifications"]},
        "reads_per_second": READS_PER_SECOND,
        "reads": reads,
        **summary(watch, prober, seconds, series),
        "faults": faults,
        "rows": series,
    }


def measure(folder: Path, seconds: float, subscribers: int, rate: float | None, first: float) -> dict[str, Any]:
    """Find the rate unless it is given, and run. Return the report without its origin."""
    wallet = wallets(SENDERS + 2)[-1]
    figures: dict[str, Any] = {}
    with dev_node(folder / "chain", *_OPTIONS) as node:
        if rate is None:
            highest, trials = find_rate(node, first)
            figures = {"highest_rate": round(highest), "trials": [each.figures() for each in trials]}
            rate = SHARE * highest
        figures |= uvloop.run(run(node, rate, seconds, wallet, subscribers))
    return figures


def main() -> int:
    """Measure, print and save; return 1 if a target is missed or something was lost."""
    parser = argparse.ArgumentParser(prog="python -m benches.sustained", description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--rate", type=float, help="transfers a second; default: 80 %% of the highest rate")
    parser.add_argument("--first-rate", type=float, default=FIRST_RATE, help="first rate of the search")
    parser.add_argument("--subscribers", type=int, default=SUBSCRIBERS)
    parser.add_argument("--short", action="store_true", help=f"{SHORT_SECONDS:g} seconds at a low rate; saves nothing")
    parser.add_argument("--save", type=Path, help="result file; also writes the plots")
    given = parser.parse_args()
    seconds, rate = given.minutes * 60, given.rate
    if given.short:
        seconds, rate = SHORT_SECONDS, given.rate or SHORT_RATE
    with tempfile.TemporaryDirectory(prefix="foreseal-sustained-") as folder:
        figures = measure(Path(folder), seconds, given.subscribers, rate, given.first_rate)
    print({name: value for name, value in figures.items() if name not in ("rows", "reads", "trials")})
    if given.save and not given.short:
        command = f"python -m benches.sustained --minutes {given.minutes:g} --subscribers {given.subscribers}"
        save(read_provenance(command, PACKAGES) | figures, given.save)
        PLOT.write_text(charts(figures["rows"]))
    return int(bool(figures["faults"]) or not all(figures["reached"].values()))


if __name__ == "__main__":
    sys.exit(main())
