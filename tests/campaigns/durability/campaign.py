"""Kills a node repeatedly under load, and compares its recovered state with its clients' reads."""

import os
import random
import signal
import statistics
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from foreseal._core import db_stats, db_verify, journal_check
from live import LiveNode, wait_for
from live.group import group_of
from live.process import foreseal_command
from traffic.clients import Clients, Deployed
from traffic.compare import check_reached, compare
from traffic.record import Record

# The shortest block time, so that kills also hit seals, and steps that are short compared with a run.
PRODUCTION = ("--block-time", "1s", "--step", "50ms")

# Maximum seconds of a run under load; one in `START_KILLS` rounds ends while the node still starts.
LONGEST_LIFE = 1.6
START_KILLS = 8
# Every other run ends within this many seconds after a slot: a tick seals the block, and the store writes it.
AROUND_SEAL = 0.15
# Number of recent blocks whose record is compared after each kill; all of it is compared at the end.
RECENT = 3
# Steps of older blocks may be unavailable.
KEPT = 1000
# Seconds for the other processes of a node to exit after one of them was killed.
GROUP_END = 10.0

# Kinds of faults with separate counts.
NAMED_FAULTS = ("lost", "reordered", "changed", "mixed")


@dataclass
class Summary:
    """Counts and results of a campaign."""

    seed: int
    kills: int = 0
    of_group: int = 0
    of_one_process: int = 0
    while_starting: int = 0
    processes: int = 0
    """Maximum number of processes of a node."""
    sent: int = 0
    preconfirmed: int = 0
    steps: int = 0
    compared: int = 0
    verified: int = 0
    """Stores that were fully verified, each after a kill."""
    behind: int = 0
    """Stores that lacked a sealed block that the journal had."""
    blocks: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    starts_ms: list[int] = field(default_factory=list)
    """Milliseconds from the start of the process to its first ready response."""

    def __str__(self) -> str:
        others = sum(self.faults.values()) - sum(self.faults[kind] for kind in NAMED_FAULTS)
        faults = ", ".join([*(f"{kind} {self.faults[kind]}" for kind in NAMED_FAULTS), f"other {others}"])
        half, most = statistics.median(self.starts_ms), max(self.starts_ms)
        return (
            f"{self.kills} kills (seed {self.seed}: {self.of_group} of the process group, {self.of_one_process} of one "
            f"process alone, {self.while_starting} of these while it started; processes of a node: {self.processes}), "
            f"{self.blocks} blocks, {self.sent} transactions sent, {self.preconfirmed} read as pre-confirmed, "
            f"{self.steps} steps recorded, {self.compared} comparisons: {faults}; "
            f"{self.verified} stores verified, {self.behind} of them behind the journal; "
            f"start to ready: median {half:.0f} ms, longest {most} ms"
        )


class Campaign:
    """One data directory and the record of its clients."""

    def __init__(self, datadir: Path, seed: int) -> None:
        self.summary = Summary(seed)
        self.record = Record()
        self._rng = random.Random(seed)
        self._datadir = datadir
        self._command = [foreseal_command(), "dev", "--port", "0", *PRODUCTION, "--datadir", str(datadir)]
        self._board = b""

    def run(self, kills: int) -> Summary:
        """Kill the node this many times, then compare all recorded reads."""
        node = self._start()
        try:
            self._board = Deployed(node.rpc).board
            for round_ in range(kills):
                self._live_and_die(node, round_)
                self._verify()
                node = self._start()
                check_reached(node.rpc, self.record, self.record)
                self._compare(node, RECENT)
            self._compare(node, KEPT)
            self.summary.blocks = int(node.rpc("eth_blockNumber"), 16)
            assert node.stop() == 0
            self._verify()
        finally:
            if node.process.poll() is None:
                node.kill()
        summary, record = self.summary, self.record
        summary.steps, summary.preconfirmed, summary.faults = (
            len(record.steps),
            len(record.receipt_positions),
            record.counts,
        )
        return summary

    def _start(self) -> LiveNode:
        begun = time.monotonic()
        node = LiveNode(self._command)
        self.summary.starts_ms.append(round((time.monotonic() - begun) * 1000))
        return node

    def _compare(self, node: LiveNode, blocks: int) -> None:
        for part in self.record.chunks(blocks):
            self.summary.compared += compare(node.rpc, part, self.record)

    def _live_and_die(self, node: LiveNode, round_: int) -> None:
        clients = Clients(node.url, self._board, self.record, self._rng.getrandbits(32))
        time.sleep(self._rng.uniform(0.05, LONGEST_LIFE))
        if round_ // 2 % 2:
            self._wait_for_seal()
        clients.expect_the_end()
        self._kill(node.process, round_)
        clients.join()
        node.kill()
        self.summary.sent += clients.sent
        if round_ % START_KILLS == START_KILLS - 1:
            self._kill_while_starting(round_)

    def _wait_for_seal(self) -> None:
        """Return while a block is being sealed or written to the store: slots end with whole seconds."""
        time.sleep(1 - time.time() % 1 + self._rng.uniform(0, AROUND_SEAL))

    def _verify(self) -> None:
        self.summary.verified += 1
        self.summary.behind += verify(self._datadir, self.record)

    def _kill_while_starting(self, round_: int) -> None:
        """Kill a starting node a second time, at a random moment of its start."""
        process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, start_new_session=True)
        time.sleep(self._rng.uniform(0, 1.2 * statistics.median(self.summary.starts_ms) / 1000))
        self._kill(process, round_)
        self.summary.while_starting += 1

    def _kill(self, process: subprocess.Popen[bytes] | subprocess.Popen[str], round_: int) -> None:
        """Kill the whole group in even rounds; in odd ones a single process, after which the others must exit too."""
        members = group_of(process.pid)
        summary = self.summary
        summary.kills += 1
        summary.processes = max(summary.processes, len(members))
        if round_ % 2 == 0:
            summary.of_group += 1
            os.killpg(process.pid, signal.SIGKILL)
        else:
            summary.of_one_process += 1
            os.kill(members[round_ // 2 % len(members)], signal.SIGKILL)
        process.wait(GROUP_END)
        wait_for(lambda: not group_of(process.pid), GROUP_END, "end of the other processes")


def verify(datadir: Path, faults: Record) -> bool:
    """Check that the store is consistent and on the journal's chain; return True if it is behind the journal."""
    verified = orjson.loads(db_verify(str(datadir), lambda *_: None))
    for fault in verified["faults"]:
        faults.fault("store", str(fault))
    # Before the first block is sealed the journal has none, and genesis may not be stored.
    stored, sealed = (
        (orjson.loads(look(str(datadir)))["head"] or {"number": 0})["number"] for look in (db_stats, journal_check)
    )
    if stored > sealed:
        faults.fault("store", f"it ends with block {stored}, the journal with {sealed}")
    return bool(stored < sealed)
