"""Kills a node that builds blocks for a driver under load, and checks all that its readers were shown."""

import os
import random
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from eth_hash.auto import keccak
from eth_utils.hexadecimal import decode_hex, encode_hex

from cluster.recording import ShownStep
from durability.campaign import verify
from foreseal.ports import next_free_port
from optimism import Driver, OptimismNode
from optimism.workload import TransactionLoad, mixed_deposits, workload_genesis
from optimism_chain.driver_loop import DriverLoop
from optimism_chain.feed_reader import RETURNED_STATUSES, FeedReader
from optimism_chain.pending_poller import PendingPoller
from readers.journal import steps_in
from traffic.record import Record

RATE = 150.0
# Minimum and maximum seconds of a node's life.
LIFE = (0.05, 1.5)
# Every other kill comes at most this many seconds after the driver begins to seal a block.
SEAL_TIME = 0.01
# L1 is reorganized during one in this many restarts, so that the open block gets other attributes.
REORGANIZE_INTERVAL = 3
# One in this many kills is followed by a verification of the store.
VERIFY_INTERVAL = 4
# One in this many kills is followed by another one while the node starts, at most START_TIME seconds later.
START_KILL_INTERVAL, START_TIME = 8, 0.7
# Time limit for a block to be sealed.
SECONDS = 30.0


@dataclass
class SequencerKillSummary:
    """Counts of a campaign."""

    seed: int
    kills: int = 0
    while_starting: int = 0
    continued: int = 0
    """Restarts after which the same attributes continued an open block."""
    withdrawn: int = 0
    """Restarts after which other attributes withdrew an open block."""
    resent: int = 0
    """Restarts after which the driver sent its finished payload again."""
    extended: int = 0
    """Restarts that found a head whose acknowledgement was lost."""
    verified: int = 0
    blocks: int = 0
    steps: int = 0
    steps_withdrawn: int = 0
    polled: int = 0
    accepted: int = 0
    returned: int = 0
    """Transactions of withdrawn steps whose status was checked after a restart."""
    faults: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return (
            f"{self.kills} kills of a sequencer (seed {self.seed}, {self.while_starting} of these while it started), "
            f"{self.blocks} blocks, {self.steps} steps shown, "
            f"{self.steps_withdrawn} withdrawn, {self.polled} pending blocks polled, {self.accepted} submissions "
            f"accepted; after a restart: {self.continued} blocks continued, {self.withdrawn} withdrawn with "
            f"{self.returned} transactions, {self.resent} payloads sent again, {self.extended} heads without "
            f"acknowledgement; {self.verified} stores verified; faults: {dict(self.faults) or 'none'}"
        )


class SequencerKills:
    """One data directory, its driver and its readers."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.summary = SequencerKillSummary(seed)
        self.faults: list[str] = []
        self._rng = random.Random(seed)
        self._folder = folder
        self._arguments = ("--port", str(next_free_port()))
        self._genesis = workload_genesis()
        self._record = Record()

    def run(self, kills: int) -> SequencerKillSummary:
        """Kill the node this many times, and check everything that was shown."""
        node = self._start()
        self._driver = driver = Driver(node.engine, deposits=mixed_deposits)
        driver.start()
        self._reader = FeedReader(node.url, driver.head.hash)
        self._feed = self._reader.feed
        self._poller = PendingPoller(node.url)
        load = TransactionLoad([node.url], RATE, self.summary.seed)
        try:
            round_ = 0
            while self.summary.kills < kills:
                self._run_until_killed(node, round_)
                node = self._start()
                self._resume(node)
                round_ += 1
            self._finish(node, load)
        finally:
            for each in (load, self._reader, self._poller):
                each.stop()
            if node.process.poll() is None:
                node.kill()
        self._check_shown()
        self.summary.faults = Counter(fault.partition(":")[0] for fault in self.faults)
        return self.summary

    def _start(self) -> OptimismNode:
        return OptimismNode(self._folder, self._genesis, *self._arguments)

    def _fault(self, kind: str, message: str) -> None:
        self.faults.append(f"{kind}: {message}")

    def _run_until_killed(self, node: OptimismNode, round_: int) -> None:
        loop = DriverLoop(self._driver, self._rng.getrandbits(32))
        loop.start()
        time.sleep(self._rng.uniform(*LIFE))
        if round_ % 2:
            loop.sealing.wait(SECONDS)
            time.sleep(self._rng.uniform(0, SEAL_TIME))
        os.killpg(node.process.pid, signal.SIGKILL)
        self.summary.kills += 1
        loop.join()
        node.kill()
        if loop.failure is not None:
            self._fault("driver", f"{type(loop.failure).__name__}: {loop.failure}")
        if round_ % START_KILL_INTERVAL == START_KILL_INTERVAL - 1:
            self._kill_while_starting(node)
        if round_ % VERIFY_INTERVAL == 0:
            self.summary.verified += 1
            verify(self._folder / "data", self._record)

    def _kill_while_starting(self, node: OptimismNode) -> None:
        process = subprocess.Popen(
            node.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(self._rng.uniform(0, START_TIME))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.summary.kills += 1
        self.summary.while_starting += 1

    def _resume(self, node: OptimismNode) -> None:
        """Synchronize the driver as op-node does, begin the next payload, and check the steps of the open block."""
        driver, summary = self._driver, self.summary
        driver.engine = node.engine
        head, safe = driver.head, driver.acknowledged_safe
        try:
            driver.start()
        except AssertionError as error:
            self._fault("lost", str(error))
            driver.chain = []
            driver.start()
        summary.extended += driver.head.number > head.number
        if driver.safe < safe:
            self._fault("safe", f"block {safe} was acknowledged as safe, the node has {driver.safe}")
        before = self._feed.withdrawn
        # No payload is open yet, so the newest step is the last one that was durable before the kill.
        self._reader.wait_for_newest(node.rpc)
        if self._feed.withdrawn > before:
            self._fault("contradicted", f"{self._feed.withdrawn - before} steps were withdrawn by the restart")
        if driver.finished is not None and self._rng.randrange(2):
            self._send_again(node)
        if self._rng.randrange(REORGANIZE_INTERVAL) == 0:
            driver.abandon()
        self._begin(node)

    def _open_steps(self) -> list[ShownStep]:
        """Return the steps after the head that the feed showed and did not withdraw."""
        head = self._driver.head.number
        return [step for step in self._feed.chain if step.number > head]

    def _send_again(self, node: OptimismNode) -> None:
        """Send the payload again that was finished before the kill: it is the block at its last step."""
        before, finished = self._feed.withdrawn, self._driver.finished
        assert finished is not None
        self._driver.seal_finished()
        self.summary.resent += 1
        self._reader.wait_for_newest(node.rpc)
        if self._feed.withdrawn > before:
            self._fault("contradicted", f"payload {finished['blockHash']} is not the last step that was shown")

    def _begin(self, node: OptimismNode) -> None:
        driver, before = self._driver, self._feed.withdrawn
        shown = self._open_steps()
        opened = driver.next_attributes()["transactions"]
        is_same = bool(shown) and list(shown[0].transactions) == [encode_hex(keccak(decode_hex(raw))) for raw in opened]
        driver.begin()
        self._reader.wait_for_newest(node.rpc)
        withdrawn = self._feed.withdrawn - before
        if is_same:
            self.summary.continued += 1
            if withdrawn:
                self._fault("contradicted", f"{withdrawn} steps withdrawn though the attributes are the same")
        elif withdrawn != len(shown):
            self._fault("contradicted", f"{withdrawn} of {len(shown)} steps withdrawn by other attributes")
        elif shown:
            self.summary.withdrawn += 1
            self._check_returned(node, shown)

    def _check_returned(self, node: OptimismNode, shown: list[ShownStep]) -> None:
        """Check that the transactions of withdrawn steps are in the pool or in the new block."""
        for hash in (each for step in shown for each in step.transactions if each not in self._driver.deposits):
            status = node.rpc("foreseal_transactionStatus", hash)
            self.summary.returned += 1
            if status["status"] not in RETURNED_STATUSES:
                self._fault("transaction", f"{hash} of a withdrawn step is {status}")

    def _finish(self, node: OptimismNode, load: TransactionLoad) -> None:
        load.stop()
        # The payload that the last restart opened.
        if self._driver.payload is not None:
            self._driver.seal()
        self._reader.wait_for_newest(node.rpc)
        for block in self._driver.chain:
            answer = node.rpc("eth_getBlockByNumber", hex(block.number), False)
            if answer is None or answer["hash"] != block.hash:
                self._fault("lost", f"block {block} was acknowledged, the node has {answer and answer['hash']}")
        self.summary.blocks, self.summary.accepted = len(self._driver.chain) - 1, len(load.accepted)
        assert node.stop() == 0
        verify(self._folder / "data", self._record)

    def _check_shown(self) -> None:
        """Check every step that the feed or a poll showed against the journal and the final chain."""
        feed, poller, datadir = self._feed, self._poller, self._folder / "data"
        self.faults += [f"feed: {fault}" for fault in feed.faults]
        self.faults += [f"mixed: {fault}" for fault in poller.faults]
        self.faults += self._record.faults
        summary = self.summary
        summary.steps, summary.steps_withdrawn, summary.polled = len(feed.shown), feed.withdrawn, len(poller.shown)
        written = feed.journalled(datadir)
        if [step.cursor.hash for step in written] != [step.hash for step in feed.chain]:
            self._fault("feed", f"the feed led to {len(feed.chain)} steps, the journal to {len(written)}")
        on_chain = {step.cursor.hash for step in written}
        included = {hash for step in written for hash in step.transactions}
        if sum(len(step.transactions) for step in written) != len(included):
            self._fault("twice", "a transaction is in the chain twice")
        durable = {step.cursor.hash for step in steps_in(datadir)}
        for hash, transactions in poller.shown.items():
            if hash not in durable:
                self._fault("lost", f"pending {hash} of block {poller.numbers[hash]} is not in the journal")
            # The first transaction identifies the attributes: if it is not on the chain, the driver left the block.
            if hash not in on_chain and transactions[0] in included:
                self._fault("contradicted", f"pending {hash} of block {poller.numbers[hash]} was left by the node")
