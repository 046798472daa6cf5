"""Kills a node that builds blocks for a driver under load, and checks what its readers were shown across the kills."""

import os
import random
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from eth_utils.crypto import keccak

from cluster.recording import ShownStep
from durability.campaign import verify
from foreseal.client import Cursor
from foreseal.ports import next_free_port
from live import wait_for
from optimism import Driver, OptimismNode
from optimism.workload import TransactionLoad, mixed_deposits, workload_genesis
from optimism_chain.driver_loop import DriverLoop
from optimism_chain.feed_reader import FeedReader
from optimism_chain.pending_poller import PendingPoller
from readers.journal import chain_in, steps_in
from traffic.record import Record

RATE = 150.0
# Minimum and maximum seconds of a node's life.
LIFE = (0.05, 1.5)
# Every other kill comes within this many seconds after a payload is taken: newPayload and forkchoiceUpdated follow.
AROUND_SEAL = 0.01
# L1 is reorganised during one in this many restarts, so that the open block gets other attributes.
REORGANIZED = 3
# One in this many kills is followed by a verification of the store.
VERIFIED = 4
# One in this many kills is followed by another one while the node starts, within this many seconds.
START_KILLS, START_TIME = 8, 0.7
SECONDS = 30.0
# Statuses of a transaction whose step was withdrawn.
RETURNED = {"pooled", "queued", "preconfirmed"}


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
    """Restarts after which the driver sent the payload again that it had taken."""
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
        self._feed = FeedReader(node.url, {"block": "0x0", "index": "0x0", "hash": driver.head.hash})
        self._poller = PendingPoller(node.url)
        load = TransactionLoad([node.url], RATE, self.summary.seed)
        try:
            round_ = 0
            while self.summary.kills < kills:
                self._live_and_die(node, round_)
                node = self._start()
                self._resume(node)
                round_ += 1
            self._finish(node, load)
        finally:
            for each in (load, self._feed, self._poller):
                each.stop()
            if node.process.poll() is None:
                node.kill()
        self._check_shown()
        self.summary.faults = Counter(fault.partition(":")[0] for fault in self.faults)
        return self.summary

    def _start(self) -> OptimismNode:
        return OptimismNode(self._folder, self._genesis, *self._arguments)

    def _fault(self, kind: str, what: str) -> None:
        self.faults.append(f"{kind}: {what}")

    def _live_and_die(self, node: OptimismNode, round_: int) -> None:
        loop = DriverLoop(self._driver, self._rng.getrandbits(32))
        loop.start()
        time.sleep(self._rng.uniform(*LIFE))
        if round_ % 2:
            loop.sealing.wait(SECONDS)
            time.sleep(self._rng.uniform(0, AROUND_SEAL))
        os.killpg(node.process.pid, signal.SIGKILL)
        self.summary.kills += 1
        loop.join()
        node.kill()
        if loop.failure is not None:
            self._fault("driver", f"{type(loop.failure).__name__}: {loop.failure}")
        if round_ % START_KILLS == START_KILLS - 1:
            self._kill_while_starting(node)
        if round_ % VERIFIED == 0:
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
        """Synchronise the driver as op-node does, open the next block, and check what happens to the open one."""
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
        # The readers reach what was durable before the kill, now that the node has the head only.
        self._wait_for_feed(node)
        if self._feed.withdrawn > before:
            self._fault("contradicted", f"{self._feed.withdrawn - before} steps were withdrawn by the restart")
        if driver.taken is not None and self._rng.randrange(2):
            self._send_again(node)
        if self._rng.randrange(REORGANIZED) == 0:
            driver.abandon()
        self._begin(node)

    def _open_steps(self) -> list[ShownStep]:
        """Return the steps after the head that the feed showed and did not withdraw."""
        head = self._driver.head.number
        return [step for step in self._feed.chain if step.number > head]

    def _send_again(self, node: OptimismNode) -> None:
        """Send the payload again that was taken before the kill: it is the block at its last step."""
        before, taken = self._feed.withdrawn, self._driver.taken
        assert taken is not None
        self._driver.seal_taken()
        self.summary.resent += 1
        self._wait_for_feed(node)
        if self._feed.withdrawn > before:
            self._fault("contradicted", f"payload {taken['blockHash']} is not the last step that was shown")

    def _begin(self, node: OptimismNode) -> None:
        driver, before = self._driver, self._feed.withdrawn
        shown = self._open_steps()
        opened = driver.next_attributes()["transactions"]
        is_same = bool(shown) and list(shown[0].transactions) == [_hash_of(raw) for raw in opened]
        driver.begin()
        self._wait_for_feed(node)
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
            if status["status"] not in RETURNED:
                self._fault("transaction", f"{hash} of a withdrawn step is {status}")

    def _wait_for_feed(self, node: OptimismNode) -> None:
        """Wait until the reader of the feed has the step that is the newest now."""
        wait_for(lambda: self._has_newest(node), SECONDS, "newest step in the feed", lambda: f"{self._feed.chain[-2:]}")

    def _has_newest(self, node: OptimismNode) -> bool:
        # Without an open payload, `pending` is an empty block that is no step of the feed.
        page = node.rpc("foreseal_getFlashblocks", None)
        return bool(self._feed.tip == page["cursor"]["hash"])

    def _finish(self, node: OptimismNode, load: TransactionLoad) -> None:
        load.stop()
        # The payload that the last restart opened.
        if self._driver.payload is not None:
            self._driver.seal()
        self._wait_for_feed(node)
        for block in self._driver.chain:
            found = node.rpc("eth_getBlockByNumber", hex(block.number), False)
            if found is None or found["hash"] != block.hash:
                self._fault("lost", f"block {block} was acknowledged, the node has {found and found['hash']}")
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
        summary.steps, summary.steps_withdrawn, summary.polled = len(feed.shown), feed.withdrawn, len(poller.seen)
        end = feed.chain[-1]
        genesis = Cursor(0, 0, self._driver.chain[0].hash)
        written = chain_in(datadir, genesis, Cursor(end.number, end.index, end.hash))
        if [step.cursor.hash for step in written] != [step.hash for step in feed.chain]:
            self._fault("feed", f"the feed led to {len(feed.chain)} steps, the journal to {len(written)}")
        on_chain = {step.cursor.hash for step in written}
        included = {hash for step in written for hash in step.transactions}
        if sum(len(step.transactions) for step in written) != len(included):
            self._fault("twice", "a transaction is in the chain twice")
        durable = {step.cursor.hash for step in steps_in(datadir)}
        for hash, transactions in poller.seen.items():
            if hash not in durable:
                self._fault("lost", f"pending {hash} of block {poller.numbers[hash]} is not in the journal")
            # The first transaction names the attributes: the driver left the block if it is on no chain.
            if hash not in on_chain and transactions[0] in included:
                self._fault("contradicted", f"pending {hash} of block {poller.numbers[hash]} was left by the node")


def _hash_of(raw: str) -> str:
    return "0x" + keccak(bytes.fromhex(raw[2:])).hex()
