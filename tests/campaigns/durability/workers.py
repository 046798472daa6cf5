"""Kills processes of a node with workers repeatedly under load, and compares its state with its clients' reads."""

import contextlib
import os
import random
import signal
import subprocess
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from campaign_cli import quantile
from durability.campaign import GROUP_END, KEPT, NAMED_FAULTS, PRODUCTION, RECENT, verify
from foreseal.ports import next_free_port
from live import LiveNode, Rpc, RpcFailure, wait_for
from live.group import group_of, names_of, server_of
from live.process import foreseal_command
from traffic.clients import GONE, Deployed
from traffic.compare import compare
from traffic.crowd import Crowd
from traffic.record import Record

KINDS = ("sequencer", "worker", "group")
LONGEST_LIFE = 1.6
# One in this many rounds has a second kill before the node is complete again.
AGAIN = 8
# The second kill comes within this many seconds of a start.
START_TIME = 1.0
# The store is verified after one in this many kills of the whole group, before the next start.
VERIFIED = 3
# Maximum seconds until a node is complete again, and then until clients are connected again.
READY_TIMEOUT, CALM = 60.0, 5.0
# Connections per worker in the search for each worker.
LOOKS = 10
# Seconds between two lines of a long campaign.
SHOWN = 60.0


@dataclass
class Summary:
    """Counts and results of a campaign; times in milliseconds."""

    seed: int
    workers: int
    readers: int
    kills: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    """Kills by kind of process."""
    while_starting: int = 0
    """Kills before the node was complete again."""
    seconds: float = 0.0
    sent: int = 0
    """Successful submissions."""
    refused: dict[str, int] = field(default_factory=dict)
    reads: int = 0
    preconfirmed: int = 0
    """Transactions whose receipt was read."""
    steps: int = 0
    compared: int = 0
    verified: int = 0
    blocks: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    next_step_ms: dict[str, list[int]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    """Time from a kill to the timestamp of the next step, by kind of killed process."""
    shown_ms: dict[str, list[int]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    """Time from a kill until a polling client reads that step."""
    recovery_ms: dict[str, list[int]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    """Time from a kill until all processes are ready, by kind of killed process."""

    def __str__(self) -> str:
        named = {kind: self.faults.get(kind, 0) for kind in NAMED_FAULTS}
        others = sum(self.faults.values()) - sum(named.values())
        faults = ", ".join([*(f"{kind} {count}" for kind, count in named.items()), f"other {others}"])
        times = "; ".join(
            f"{kind} p50 {quantile(made, 0.5)}, p99 {quantile(made, 0.99)} "
            f"(seen by a client: {quantile(self.shown_ms[kind], 0.5)}, {quantile(self.shown_ms[kind], 0.99)})"
            for kind, made in self.next_step_ms.items()
            if made
        )
        return (
            f"{sum(self.kills.values())} kills (seed {self.seed}: {self.kills}, {self.while_starting} of these "
            f"before the node was whole again) of a node with {self.workers} workers under "
            f"{self.sent / self.seconds:.0f} submissions a second and {self.readers} readers; {self.blocks} blocks, "
            f"{self.sent} submissions answered, {self.reads} reads, {self.preconfirmed} transactions read as "
            f"pre-confirmed, {self.steps} steps recorded, {self.compared} comparisons: {faults}; "
            f"{self.verified} stores verified; ms from kill to next step: {times}"
        )


class Campaign:
    """One data directory, and clients that outlive every process."""

    def __init__(self, datadir: Path, seed: int, workers: int = 2, submissions: int = 500, readers: int = 200) -> None:
        self.summary = Summary(seed, workers, readers)
        self.record = Record()
        self._rng = random.Random(seed)
        self._datadir = datadir
        self._workers = workers
        self._submissions = submissions
        arguments = ("--port", str(next_free_port()), *PRODUCTION, "--datadir", str(datadir))
        self._make = [foreseal_command(), "dev", *arguments]
        self._command = [foreseal_command(), "run", "--workers", str(workers), *arguments]
        self._kinds: list[str] = []
        # Intervals in Unix seconds in which connections may break and submissions may be rejected.
        self._excused: list[tuple[float, float]] = []

    def run(self, kills: int) -> Summary:
        """Kill this many times, then compare all recorded reads."""
        board = self._prepare()
        node = LiveNode(self._command)
        self._wait_until_ready(node)
        begun = time.monotonic()
        crowd = Crowd(node.url, board, self.record, self._rng.getrandbits(32), self._submissions, self.summary.readers)
        try:
            shown = begun
            while (done := sum(self.summary.kills.values())) < kills:
                if time.monotonic() - shown >= SHOWN:
                    shown = time.monotonic()
                    faults = sum(self.record.counts.values())
                    print(f"{done} of {kills} kills in {shown - begun:.0f} s, {faults} faults", flush=True)
                node = self._live_and_die(node)
                self._compare(node, RECENT)
            time.sleep(2)
            self.summary.seconds = time.monotonic() - begun
            crowd.stop()
            self._compare(node, KEPT)
            self.summary.blocks = int(node.rpc("eth_blockNumber"), 16)
            assert node.stop() == 0
            self._verify()
        finally:
            crowd.end()
            if node.process.poll() is None:
                node.kill()
        return self._summed_up(crowd)

    def _summed_up(self, crowd: Crowd) -> Summary:
        summary, record = self.summary, self.record
        for moment, what in crowd.breaks:
            if not any(start <= moment <= end for start, end in self._excused):
                record.fault("refused", f"nothing had been killed: {what}")
        summary.sent, summary.reads, summary.refused = crowd.sent, crowd.reads, dict(crowd.refused)
        summary.steps, summary.preconfirmed, summary.faults = (
            len(record.steps),
            len(record.receipt_positions),
            dict(record.counts),
        )
        return summary

    def _prepare(self) -> bytes:
        """Make the chain of a development node, with the contract, and return its address."""
        node = LiveNode(self._make)
        try:
            board = Deployed(node.rpc).board
            assert node.stop() == 0
        finally:
            if node.process.poll() is None:
                node.kill()
        return board

    def _wait_until_ready(self, node: LiveNode) -> None:
        """Wait until there is a sequencer, and each worker follows it."""
        wait_for(lambda: self._is_ready(node), READY_TIMEOUT, "whole node", lambda: node.printed[-2000:])

    def _is_ready(self, node: LiveNode) -> bool:
        running = names_of(node.process.pid)
        workers = {pid for name, pid in running if name.startswith("worker")}
        following: set[int | None] = set()
        # Each new connection reaches some worker.
        for _ in range(LOOKS * self._workers):
            if len(running) != 1 + self._workers or workers <= following:
                break
            with contextlib.closing(Rpc(node.url)) as rpc:
                try:
                    if rpc("foreseal_status")["phase"] == "following":
                        following.add(server_of(rpc, list(workers)))
                except (*GONE, RpcFailure):
                    return False
        return len(running) == 1 + self._workers and workers <= following

    def _live_and_die(self, node: LiveNode) -> LiveNode:
        """Kill a process after a random time; return the complete node."""
        time.sleep(self._rng.uniform(0.05, LONGEST_LIFE))
        newest = max(self.record.after((self.record.newest[0] - 1, 0)).steps.items(), default=None)
        kind = self._next_kind()
        again = self._rng.randrange(AGAIN) == 0
        begun = time.time()
        if kind == "group":
            moment, looked_at = self._kill_all(node.process, again)
            node = LiveNode(self._command)
        else:
            moment, looked_at = self._kill_one(node, kind, again), False
        timed = newest is not None and not again and not looked_at
        if timed:
            self._note_next_step(node, kind, newest, moment)
        self._wait_until_ready(node)
        ready = time.time()
        self._excused.append((begun, ready + CALM))
        if timed:
            self.summary.recovery_ms[kind].append(round((ready - moment) * 1000))
        return node

    def _next_kind(self) -> str:
        """Return the next kind: all kinds occur once, in random order, before any repeats."""
        if not self._kinds:
            self._kinds = self._rng.sample(KINDS, len(KINDS))
        return self._kinds.pop()

    def _kill_one(self, node: LiveNode, kind: str, again: bool) -> float:
        """Kill a process of this kind, with `again` once more during its restart; return the time of the last kill."""
        moment = time.time()
        for _ in range(1 + again):
            which = [pid for name, pid in names_of(node.process.pid) if name.startswith(kind)]
            # The only process of its kind may not be back yet.
            if which:
                os.kill(self._rng.choice(which), signal.SIGKILL)
                moment = time.time()
                self.summary.kills[kind] += 1
            if again:
                time.sleep(self._rng.uniform(0, START_TIME))
        self.summary.while_starting += again
        return moment

    def _kill_all(self, process: subprocess.Popen[Any], again: bool) -> tuple[float, bool]:
        """Kill the whole group, with `again` also the next one; return the time, and True if the store was verified."""
        moment = self._kill_group(process)
        if again:
            process = subprocess.Popen(
                self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
            )
            time.sleep(self._rng.uniform(0, START_TIME))
            moment = self._kill_group(process)
            self.summary.while_starting += 1
        if self._rng.randrange(VERIFIED):
            return moment, False
        self._verify()
        return moment, True

    def _kill_group(self, process: subprocess.Popen[Any]) -> float:
        self.summary.kills["group"] += 1
        if self._rng.randrange(2):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            # Kill only the supervisor: no other process may outlive it.
            process.kill()
        moment = time.time()
        process.wait(GROUP_END)
        wait_for(lambda: not group_of(process.pid), GROUP_END, "end of the other processes")
        return moment

    def _note_next_step(self, node: LiveNode, kind: str, newest: Any, moment: float) -> None:
        """Record the time until the sequencer made the first step after the kill, and until a client saw it."""
        (block, index), step = newest
        cursor: Any = {"block": hex(block), "index": hex(index), "hash": step.hash}

        def poll() -> int | None:
            nonlocal cursor
            try:
                page = rpc("foreseal_getFlashblocks", cursor)
            except (*GONE, RpcFailure):
                # The worker was killed or is not back yet; the next connection may reach another one.
                rpc.close()
                return None
            cursor = page["cursor"]
            # Only the first part of a large step has its time.
            times = (int(each["time"], 16) for each in page["flashblocks"] if "time" in each)
            return next((made for made in times if made >= moment * 1000), None)

        with contextlib.closing(Rpc(node.url)) as rpc:
            made = wait_for(poll, READY_TIMEOUT, "next step")
        self.summary.next_step_ms[kind].append(round(made - moment * 1000))
        self.summary.shown_ms[kind].append(round((time.time() - moment) * 1000))

    def _compare(self, node: LiveNode, blocks: int) -> None:
        for part in self.record.chunks(blocks):
            # A new connection each time reaches any worker.
            with contextlib.closing(Rpc(node.url)) as rpc:
                wait_for(partial(self._reached, rpc, part), READY_TIMEOUT, f"worker that has {part.newest}")
                self.summary.compared += compare(rpc, part, self.record)

    def _reached(self, rpc: Rpc, part: Record) -> bool:
        status = rpc("foreseal_status")
        return (int(status["block"], 16), int(status["index"], 16)) >= part.newest

    def _verify(self) -> None:
        self.summary.verified += 1
        verify(self._datadir, self.record)
