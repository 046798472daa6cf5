"""Memory of a public node under blocks full of logs, for minutes to hours: `python -m hostile.memory --minutes 60`."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benches.big_state.memory_limit import MemoryGroup, memory_group

from campaign_cli import conclude, options
from hostile.attacker import LONGEST
from hostile.build import TRANSPORTS, Build
from hostile.chain import Chain, kill_quietly
from hostile.trial import attack
from hostile.usage import measure
from live.group import group_of
from live.process import LiveNode
from live.rpc import Rpc, RpcFailure

GAS_LIMIT = 800_000_000
"""Gas limit of the genesis. Once the base fee has risen to the fee cap of the attack, half of it is used."""
_MB = 1_000_000
_LIMIT = 2 << 30
_MIN_FREE_DISK = 4 << 30


@dataclass
class Sample:
    """Sizes at one moment of a run."""

    seconds: float
    block: int
    gas_used: int
    """Gas of the newest sealed block."""
    anonymous_mb: int
    """Anonymous memory of all processes, by smaps_rollup."""
    resident_mb: int
    budget_mb: int
    """Memory that the node counts against its budget."""
    disk_mb: int

    def __str__(self) -> str:
        return (
            f"{self.seconds:6.0f} s: block {self.block}, {self.gas_used / 1e6:.0f} M gas; memory: anonymous "
            f"{self.anonymous_mb} MB, resident {self.resident_mb} MB, counted {self.budget_mb} MB; "
            f"disk {self.disk_mb} MB"
        )


@dataclass
class Summary:
    """Figures of a run."""

    options: tuple[str, ...]
    patterns: tuple[str, ...]
    limit_mb: int | None
    seconds: float = 0.0
    blocks: int = 0
    gas: int = 0
    """Gas of the sealed blocks."""
    anonymous_peak_mb: int = 0
    anonymous_at_10_minutes_mb: int | None = None
    group_peak_mb: int | None = None
    """Highest use within the limit, cached pages of files included."""
    exit_code: int | None = None
    """Exit code of a node that ended by itself."""
    samples: list[Sample] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        limit = "without a limit" if self.limit_mb is None else f"in a limit of {self.limit_mb} MB"
        average = self.gas / max(self.blocks, 1) / 1e6
        state = "alive" if self.exit_code is None else f"ended with {self.exit_code}"
        return (
            f"{' '.join(self.options) or 'one process'}, {limit}: {state} after {self.seconds:.0f} s and {self.blocks} "
            f"blocks of {average:.0f} M gas; anonymous memory {self.anonymous_at_10_minutes_mb} MB after 10 minutes, "
            f"at most {self.anonymous_peak_mb} MB"
        )


def run(build: Build, summary: Summary, seconds: float, interval: float, folder: Path) -> None:
    """Run a node on a new chain under the patterns; add a sample in each interval."""
    chain = Chain(build, folder)
    genesis = json.loads(chain.genesis.read_text())
    genesis["gasLimit"] = hex(GAS_LIMIT)
    chain.genesis.write_text(json.dumps(genesis))
    with _limited(summary) as group:
        if group is not None:
            chain.launch = group.command
        node = chain.start("--public", *summary.options)
        try:
            chain.create_key("attack")
            chain.populate(node.rpc)
            chain.facts.save(folder / "facts.json")
            with _attacks(folder, summary.patterns) as renew:
                _observe(node, chain.datadir, summary, (seconds, interval), renew)
        finally:
            if group is not None:
                summary.group_peak_mb = group.peak() // _MB
            kill_quietly(node)


@contextlib.contextmanager
def _limited(summary: Summary) -> Iterator[MemoryGroup | None]:
    if summary.limit_mb is None:
        yield None
        return
    with memory_group(summary.limit_mb * _MB) as group:
        yield group


@contextlib.contextmanager
def _attacks(folder: Path, patterns: Sequence[str]) -> Iterator[Callable[[], None]]:
    """Run the patterns; yield a function that starts those again that have ended."""
    running: dict[str, subprocess.Popen[str]] = {}

    def renew() -> None:
        for pattern in patterns:
            if pattern not in running or running[pattern].poll() is not None:
                running[pattern] = attack(folder, pattern, 1, LONGEST)

    renew()
    try:
        yield renew
    finally:
        for process in running.values():
            process.kill()
            process.communicate()


def _observe(
    node: LiveNode, datadir: Path, summary: Summary, times: tuple[float, float], renew: Callable[[], None]
) -> None:
    seconds, interval = times
    begin = time.monotonic()
    turn = 0
    while (passed := time.monotonic() - begin) < seconds:
        time.sleep(min(interval * (turn + 1) - passed, seconds - passed) if interval * (turn + 1) > passed else 0)
        turn += 1
        summary.seconds = round(time.monotonic() - begin, 1)
        summary.exit_code = node.process.poll()
        if summary.exit_code is not None:
            summary.faults.append(f"the node ended with {summary.exit_code}: {node.printed[-500:]}")
            return
        renew()
        sample = _sample(node, datadir, summary)
        summary.samples.append(sample)
        summary.anonymous_peak_mb = max(summary.anonymous_peak_mb, sample.anonymous_mb)
        if summary.anonymous_at_10_minutes_mb is None and sample.seconds >= 600:
            summary.anonymous_at_10_minutes_mb = sample.anonymous_mb
        print(sample, flush=True)
        if shutil.disk_usage(datadir).free < _MIN_FREE_DISK:
            summary.faults.append(f"the disk is full after {summary.seconds:.0f} s")
            return


def _sample(node: LiveNode, datadir: Path, summary: Summary) -> Sample:
    usage = measure(group_of(node.process.pid))
    disk = sum(each.stat().st_blocks * 512 for each in datadir.rglob("*") if each.is_file())
    newest, used = summary.blocks, 0
    counted = 0
    try:
        with contextlib.closing(Rpc(node.url, timeout=10.0)) as rpc:
            newest = int(rpc("eth_blockNumber"), 16)
            for number in range(summary.blocks + 1, newest + 1):
                used = int(rpc("eth_getBlockByNumber", hex(number), False)["gasUsed"], 16)
                summary.gas += used
            counted = rpc("foreseal_status")["memory"]["bytes"]
    except (RpcFailure, OSError) as error:
        summary.faults.append(f"{summary.seconds:.0f} s: {error}")
    summary.blocks = newest
    return Sample(
        seconds=summary.seconds,
        block=newest,
        gas_used=used,
        anonymous_mb=usage.private * 1024 // _MB,
        resident_mb=usage.resident * 1024 // _MB,
        budget_mb=counted // _MB,
        disk_mb=disk // _MB,
    )


def main() -> int:
    """Run it; 0 if the node lived and answered."""
    parser = options("hostile.memory")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--interval", type=float, default=20.0, help="seconds between two samples")
    parser.add_argument("--patterns", default="stream-logs", help="names of patterns, separated by commas")
    parser.add_argument("--limit", type=int, default=_LIMIT // _MB, help="limit of memory in MB; 0 for none")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--transport", choices=TRANSPORTS, default=TRANSPORTS[0])
    parser.add_argument("--foreseal", type=Path, help="executable of the build; by default that of this Python")
    parser.add_argument("--folder", type=Path, help="folder for the chain, in a new folder there")
    given = parser.parse_args()
    build = Build(given.foreseal) if given.foreseal else Build.beside()
    chosen = build.transport_options(given.transport) + (["--workers", str(given.workers)] if given.workers else [])
    summary = Summary(tuple(chosen), tuple(given.patterns.split(",")), given.limit or None)
    # The run may share the machine with other work.
    os.nice(3)
    with tempfile.TemporaryDirectory(prefix="foreseal-memory-", dir=given.folder) as folder:
        run(build, summary, 60 * given.minutes, given.interval, Path(folder))
    print(summary)
    for fault in summary.faults[:20]:
        print(fault)
    command = f"python -m hostile.memory {' '.join(sys.argv[1:])}"
    return conclude(summary, summary.faults, given.save, (command, ()))


if __name__ == "__main__":
    sys.exit(main())
