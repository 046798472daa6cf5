"""Many blocks of a node under constant use, with size samples in between, and a check at the end."""

import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from day.users import Users
from hostile.malformed.campaign import usage
from live import LiveNode
from live.process import foreseal_command
from repository import PYTHONPATH
from traffic.transfers import deploy_token

SECONDS_A_DAY = 24 * 3600
# Number of size samples per run.
LOOKS = 48
# Maximum growth of a size, from the second quarter of a run to the last one, that counts as flat.
FLAT = 1.1
# Capacity of the ring of pool arrival hashes, which filters read.
ARRIVALS = 262_144


@dataclass
class Summary:
    """Events and results of a run."""

    speed: int
    """Speed-up over real time."""
    blocks: int = 0
    hours: float = 0
    """Chain time in hours."""
    seconds: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    samples: list[dict[str, float]] = field(default_factory=list)
    growth: dict[str, float] = field(default_factory=dict)
    """Median of the last quarter of the run divided by that of the second one."""
    verified: str = ""
    checked: str = ""
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        growth = ", ".join(f"{name} {factor}" for name, factor in self.growth.items())
        return (
            f"{self.blocks} blocks, {self.hours} hours of the chain in {self.seconds} s: {self.counts}; "
            f"growth from the second quarter to the last: {growth}; {self.verified} {self.checked} "
            f"faults: {len(self.faults)}"
        )


class Campaign:
    """One node from an empty folder."""

    def __init__(self, datadir: Path, seed: int, speed: int, pause: float) -> None:
        self._datadir, self._seed, self._pause = datadir, seed, pause
        path = f"PYTHONPATH={PYTHONPATH}"
        self._command = ["/usr/bin/env", path, sys.executable, "-m", "day.node", str(datadir), str(speed)]
        self.summary = Summary(speed)

    def run(self, blocks: int) -> Summary:
        """Run this many blocks."""
        begun = time.monotonic()
        node = LiveNode(self._command)
        try:
            token = bytes.fromhex(deploy_token(node.rpc)[2:])
            users = Users(node.url, token, self._seed, self._pause)
            try:
                first = node.rpc("eth_getBlockByNumber", "latest", False)
                self._watch(node, blocks, users)
                last = node.rpc("eth_getBlockByNumber", "latest", False)
            finally:
                users.stop()
            self.summary.hours = round((int(last["timestamp"], 16) - int(first["timestamp"], 16)) / 3600, 2)
            self.summary.blocks = int(last["number"], 16)
            self.summary.counts, self.summary.faults = dict(users.counts), users.faults
            if node.stop() != 0:
                self.summary.faults.append(f"it ended with {node.process.poll()}: {node.printed[-500:]}")
        finally:
            if node.process.poll() is None:
                node.kill()
        self.summary.seconds = round(time.monotonic() - begun)
        self._compare()
        self.summary.verified = self._output_of("db", "verify")
        self.summary.checked = self._output_of("journal", "check")
        return self.summary

    def _watch(self, node: LiveNode, blocks: int, users: Users) -> None:
        """Wait until the chain has this many blocks, with evenly spaced samples."""
        number = 0
        while number < blocks and not users.faults:
            number = int(node.rpc("eth_blockNumber"), 16)
            if number >= blocks * len(self.summary.samples) // LOOKS:
                status = node.rpc("foreseal_status")
                arrivals = {"arrivals KB": ring_kb(users.counts["transactions"])}
                sample = {"block": number, **usage([node.process.pid]), **arrivals, **self._files(status)}
                self.summary.samples.append(sample)
                print(sample, flush=True)
            time.sleep(0.2)

    def _files(self, status: dict[str, Any]) -> dict[str, float]:
        journal = sum(file.stat().st_blocks * 512 for file in (self._datadir / "journal").iterdir())
        store = (self._datadir / "store" / "data.mdb").stat().st_blocks * 512
        return {"journal KB": journal // 1024, "store KB": store // 1024, "backlog": status["store"]["backlog"]}

    def _compare(self) -> None:
        samples = self.summary.samples
        quarter = len(samples) // 4
        second, last = samples[quarter : 2 * quarter], samples[-quarter:]
        for sample in samples:
            # A day is not long enough to fill the ring: its size is computed, and the rest must be flat.
            sample["other KB"] = sample["resident KB"] - sample["arrivals KB"]
        for name in ("resident KB", "other KB", "descriptors", "threads", "journal KB", "store KB"):
            before, after = (median(sample[name] for sample in part) for part in (second, last))
            self.summary.growth[name] = round(after / before, 2)
        for name in ("other KB", "descriptors", "threads", "journal KB"):
            if self.summary.growth[name] > FLAT:
                self.summary.faults.append(f"{name} grew by a factor of {self.summary.growth[name]}")

    def _output_of(self, *command: str) -> str:
        done = subprocess.run([foreseal_command(), *command, str(self._datadir)], capture_output=True, text=True)
        if done.returncode:
            self.summary.faults.append(f"{' '.join(command)} exited with {done.returncode}: {done.stderr}")
        return " ".join(done.stdout.split())[-300:]


def ring_kb(transactions: int) -> int:
    """Return the size of the ring of arrival hashes, 32 bytes each."""
    return min(transactions, ARRIVALS) * 32 // 1024
