"""Kills a node that executes the recorded blocks of a verifier, and checks that the same driver can continue."""

import contextlib
import http.client
import os
import random
import signal
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from durability.campaign import verify
from foreseal.ports import next_free_port
from optimism import OptimismNode
from optimism.exchanges import read_exchanges
from optimism.recordings import RECORDED_CHAINS
from optimism_chain.feed_reader import FeedChain, FeedReader
from optimism_chain.recorded_driver import RecordedDriver
from traffic.record import Record

# Minimum and maximum seconds from the continuation of a replay to the next kill.
LIFE = (0.005, 0.25)


@dataclass
class VerifierKillSummary:
    """Counts of a campaign."""

    seed: int
    kills: int = 0
    replays: int = 0
    """Recordings replayed to the end."""
    exchanges: int = 0
    """Exchanges with the recorded result."""
    reopened: int = 0
    """Restarts while a payload was open."""
    steps: int = 0
    """Steps shown by the feed."""
    withdrawn: int = 0
    verified: int = 0
    faults: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return (
            f"{self.kills} kills of a verifier (seed {self.seed}), {self.replays} recordings replayed, "
            f"{self.exchanges} exchanges as recorded, {self.reopened} payloads opened again, {self.steps} steps "
            f"shown, {self.withdrawn} withdrawn, {self.verified} stores verified; faults: {dict(self.faults) or 'none'}"
        )


class VerifierKills:
    """Replays of recordings, one after the other, until enough kills."""

    def __init__(self, folder: Path, recordings: Path, seed: int) -> None:
        """`recordings` is the folder of the vectors of OP chains."""
        self.summary = VerifierKillSummary(seed)
        self.faults: list[str] = []
        self._rng = random.Random(seed)
        self._folder = folder
        self._recordings = recordings

    def run(self, kills: int) -> VerifierKillSummary:
        """Kill nodes this many times; every replay is completed."""
        self._folder.mkdir(exist_ok=True)
        while self.summary.kills < kills:
            self._replay(RECORDED_CHAINS[self.summary.replays % len(RECORDED_CHAINS)], kills)
            self.summary.replays += 1
        self.summary.faults = Counter(fault.partition(":")[0] for fault in self.faults)
        return self.summary

    def _replay(self, name: str, kills: int) -> None:
        genesis = self._recordings / f"genesis-{name}.json"
        exchanges = read_exchanges(self._recordings / f"verifier-{name}.jsonl.zst")
        folder, arguments = self._folder / str(self.summary.replays), ("--port", str(next_free_port()))
        node = OptimismNode(folder, genesis, *arguments)
        driver = RecordedDriver(node.engine, exchanges)
        first = node.rpc("eth_getBlockByNumber", "0x0", False)["hash"]
        feed = FeedReader(node.url, first)
        try:
            while self.summary.kills < kills:
                if self._run_until_killed(node, driver):
                    break
                node = OptimismNode(folder, genesis, *arguments)
                driver.engine = node.engine
                self._synchronize(node, driver, feed)
            driver.replay()
            feed.wait_for_newest(node.rpc)
            assert node.stop() == 0
        finally:
            feed.stop()
            if node.process.poll() is None:
                node.kill()
        self._check(folder / "data", driver, feed.feed)

    def _run_until_killed(self, node: OptimismNode, driver: RecordedDriver) -> bool:
        """Replay until a kill; return True if the recording ended before."""
        timer = threading.Timer(self._rng.uniform(*LIFE), os.killpg, (node.process.pid, signal.SIGKILL))
        timer.start()
        with contextlib.suppress(OSError, http.client.HTTPException):
            driver.replay()
            timer.cancel()
        timer.join()
        if node.process.poll() is None and driver.is_complete and not _is_dead(node):
            return True
        self.summary.kills += 1
        node.kill()
        return False

    def _synchronize(self, node: OptimismNode, driver: RecordedDriver, feed: FeedReader) -> None:
        feed.wait_for_newest(node.rpc)
        before = feed.feed.withdrawn
        if driver.synchronize():
            self.summary.reopened += 1
            feed.wait_for_newest(node.rpc)
            if feed.feed.withdrawn > before:
                count = feed.feed.withdrawn - before
                self.faults.append(f"contradicted: {count} steps withdrawn though the attributes are the same")

    def _check(self, datadir: Path, driver: RecordedDriver, feed: FeedChain) -> None:
        """Check the store, the answers to the driver, and the steps that the feed showed."""
        summary, record = self.summary, Record()
        verify(datadir, record)
        self.faults += record.faults
        self.faults += driver.faults
        self.faults += [f"feed: {fault}" for fault in feed.faults]
        steps = feed.journalled(datadir)
        if [step.cursor.hash for step in steps] != [step.hash for step in feed.chain]:
            self.faults.append(f"feed: it led to {len(feed.chain)} steps, the journal to {len(steps)}")
        summary.verified += 1
        summary.exchanges += driver.passed
        summary.steps += len(feed.shown)
        summary.withdrawn += feed.withdrawn


def _is_dead(node: OptimismNode) -> bool:
    """Return True if the node does not answer."""
    try:
        node.rpc("eth_chainId")
    except (OSError, http.client.HTTPException):
        return True
    return False
