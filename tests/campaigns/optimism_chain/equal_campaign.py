"""Compares every method at the last step of a block with the sealed block, under a driver that abandons payloads."""

import contextlib
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from live import Rpc, wait_for
from live.blocks import wait_for_block
from live.step_answers import StepAnswers, StepAnswersByPosition, compare_with_sealed, read_pending, view_queries
from live.tag_queries import TagQuery
from optimism import Driver, Fork
from optimism.workload import LOG_CONTRACT, TransactionLoad, mixed_deposits, workload_genesis
from optimism_chain.driver_loop import ABANDON_INTERVAL, GO_BACK_INTERVAL
from optimism_chain.feed_reader import RETURNED_STATUSES, FeedReader
from optimism_chain.serving_node import ServingNode, serving_node
from optimism_chain.stream_reader import Entry, StreamReader
from readers.journal import steps_in

RATE = 150.0
# Seconds of a payload.
PAYLOAD_TIME = 0.8
# Maximum number of blocks until the pool is empty, after the last transaction was sent.
MAX_DRAIN_BLOCKS = 60
SECONDS = 30.0
DEPOSIT_TYPE = "0x7e"
# Number of transactions whose status is compared with the chain.
SAMPLE_SIZE = 300


@dataclass
class EqualSummary:
    """Counts of a campaign."""

    seed: int
    workers: int
    blocks: int = 0
    methods: int = 0
    abandoned: int = 0
    gone_back: int = 0
    steps: int = 0
    """Steps shown by the feed."""
    withdrawn: int = 0
    withdrawn_transactions: int = 0
    """Transactions of the pool in abandoned payloads, whose status was checked."""
    polled: int = 0
    """Pending blocks read by polling, each with every method."""
    compared: int = 0
    removed: dict[str, int] = field(default_factory=dict)
    """Entries with `removed: true` by subscription."""
    accepted: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    deposits: dict[str, int] = field(default_factory=dict)
    """Deposits of users on the final chain, by outcome."""

    def __str__(self) -> str:
        return (
            f"{self.blocks} blocks (seed {self.seed}, workers {self.workers}), {self.methods} methods: "
            f"{self.compared} answers compared, {self.polled} pending blocks polled; {self.abandoned} payloads "
            f"abandoned, {self.gone_back} heads gone back, {self.steps} steps shown, {self.withdrawn} withdrawn with "
            f"{self.withdrawn_transactions} transactions, removed on subscriptions: {self.removed}; "
            f"{self.accepted} transactions accepted, rejected: {self.rejected}; deposits: {self.deposits}"
        )


class EqualCampaign:
    """One chain under one driver."""

    def __init__(
        self,
        folder: Path,
        seed: int,
        workers: int,
        fork: Fork = Fork.JOVIAN,
        abandon_interval: int = ABANDON_INTERVAL,
    ) -> None:
        """With `workers` 0 the node has one process; one in `abandon_interval` payloads is abandoned."""
        self.summary = EqualSummary(seed, workers)
        self.faults: list[str] = []
        self._folder = folder
        self._fork = fork
        self._abandon_interval = abandon_interval
        # The driver's choices do not depend on the number of samples.
        self._rng, self._samples = random.Random(seed), random.Random(seed)
        self._polled: dict[str, tuple[str, ...]] = {}
        """Transactions of every polled pending block, by its hash."""

    def run(self, blocks: int) -> EqualSummary:
        """Seal this many blocks, compare them, and check the steps that readers were shown."""
        node = serving_node(self._folder, workload_genesis(self._fork), self.summary.workers, LOG_CONTRACT)
        try:
            self._run(node, blocks)
            node.close()
            assert node.live.stop() == 0, node.live.printed[-3000:]
        finally:
            if node.live.process.poll() is None:
                print(node.live.printed[-3000:])
                node.live.kill()
        self._compare_journal()
        return self.summary

    def _run(self, node: ServingNode, blocks: int) -> None:
        each = node.each()
        self._each, self._writer, self._processes = each, node.others[-1], [*each, *node.others]
        self._driver = Driver(node.engine, self._fork, mixed_deposits)
        self._driver.start()
        self._queries: list[TagQuery] = view_queries(each[0], LOG_CONTRACT)
        self.summary.methods = len(self._queries)
        self._reader = FeedReader(each[-1].url, self._driver.head.hash)
        self._feed = self._reader.feed
        self._stream = StreamReader(each[0].url)
        load = TransactionLoad([rpc.url for rpc in each], RATE, self.summary.seed)
        try:
            while self.summary.blocks < blocks:
                self._payload()
            load.stop()
            self._drain()
            self._settle()
        finally:
            load.stop()
            self._reader.stop()
            self._stream.stop()
        self.summary.accepted, self.summary.rejected = len(load.accepted), dict(load.rejected)
        self._check_steps()
        self._check_chain(set(load.accepted))

    def _payload(self) -> None:
        """Begin a payload, poll it, and seal or abandon it."""
        driver = self._driver
        driver.begin()
        number = driver.head.number + 1
        seen: list[StepAnswersByPosition] = [{} for _ in self._each]
        end = time.monotonic() + PAYLOAD_TIME
        while time.monotonic() < end:
            for process, rpc in enumerate(self._each):
                self._record(seen[process], read_pending(process, rpc, self._queries), number)
        if self._rng.randrange(self._abandon_interval) == 0:
            self._abandon()
            return
        last = driver.finish()["blockHash"]
        for process, rpc in enumerate(self._each):
            wait_for(partial(_shows, rpc, last), SECONDS, f"step {last}")
            self._record(seen[process], read_pending(process, rpc, self._queries), number)
        sealed = driver.seal()["blockHash"]
        if sealed != last:
            self.faults.append(f"block {number}: the payload was {last}, then {sealed}")
        for rpc in self._processes:
            wait_for_block(rpc, number, SECONDS)
        for of_process in seen:
            self.summary.compared += self._compare(of_process, sealed)
        self.summary.blocks += 1

    def _record(self, seen: StepAnswersByPosition, shown: StepAnswers, number: int) -> None:
        """Add the answers of a process at a step of block `number` to `seen`, and check the step itself."""
        self.summary.polled += 1
        block = shown.answers[[method for method, _ in self._queries].index("eth_getBlockByNumber")]
        self._polled[shown.hash] = tuple(each["hash"] for each in block["transactions"])
        if block["hash"] != shown.hash:
            self.faults.append(f"pending {shown.position}: status {shown.hash}, block {block['hash']}")
        # A worker may still be at the previous block.
        if shown.position[0] == number and block["transactions"]:
            first = seen.setdefault(shown.position, shown)
            if first.hash != shown.hash:
                self.faults.append(f"{shown.position} is {first.hash}, then {shown.hash}")

    def _compare(self, seen: StepAnswersByPosition, sealed: str) -> int:
        if not seen or seen[max(seen)].hash != sealed:
            self.faults.append(f"the last step of {sealed} was not polled")
            return 0
        try:
            return compare_with_sealed(self._processes, self._queries, seen, self._samples)
        except AssertionError as error:
            self.faults.append(str(error)[:2000])
            return 0

    def _abandon(self) -> None:
        """Abandon the payload, begin another one, and check the status of the withdrawn transactions."""
        driver, summary = self._driver, self.summary
        left = [self._writer("eth_getBlockByNumber", "pending", True)]
        driver.abandon()
        summary.abandoned += 1
        if driver.can_go_back and self._rng.randrange(GO_BACK_INTERVAL) == 0:
            left.append(self._writer("eth_getBlockByNumber", "latest", True))
            driver.go_back()
            summary.gone_back += 1
        driver.begin()
        first = {each["hash"] for each in self._writer("eth_getBlockByNumber", "pending", True)["transactions"]}
        for block in left:
            for transaction in block["transactions"]:
                self._check_withdrawn(transaction, first)
        sealed = driver.seal()["blockHash"]
        # A process that still shows the abandoned block would mix it with the next one of its number.
        for rpc in self._processes:
            wait_for(partial(_has_sealed, rpc, sealed), SECONDS, f"block {sealed}")
        summary.blocks += 1

    def _check_withdrawn(self, transaction: dict[str, Any], first: set[str]) -> None:
        status = self._writer("foreseal_transactionStatus", transaction["hash"])
        where = f"{transaction['hash']} of a withdrawn step: {status}"
        if transaction["type"] == DEPOSIT_TYPE:
            if transaction["hash"] not in first and status["status"] != "unknown":
                self.faults.append(f"deposit {where}")
            return
        self.summary.withdrawn_transactions += 1
        if status["status"] not in RETURNED_STATUSES:
            self.faults.append(where)
        elif status["status"] == "preconfirmed":
            number = int(status["blockNumber"], 16)
            if number != self._driver.head.number + 1:
                self.faults.append(f"{where}, while {self._driver.head.number + 1} is open")

    def _drain(self) -> None:
        """Seal blocks until the pool is empty."""
        for _ in range(MAX_DRAIN_BLOCKS):
            pool = self._writer("foreseal_status")["pool"]
            if pool["pooled"] == pool["queued"] == 0:
                return
            self._driver.begin()
            time.sleep(PAYLOAD_TIME / 2)
            self._driver.seal()
        self.faults.append(f"the pool is not empty: {self._writer('foreseal_status')['pool']}")

    def _settle(self) -> None:
        """Wait until the readers have the head."""
        head = self._driver.head.hash
        wait_for(lambda: self._feed.tip == head, SECONDS, "end of the feed", lambda: f"{self._feed.chain[-3:]}")
        steps = self._stream.lists["newFlashblocks"]
        wait_for(lambda: steps and steps[-1][0] == head, SECONDS, "end of the stream", lambda: f"{steps[-3:]}")
        expected = sum(len(step.transactions) for step in self._feed.chain)
        logs = len(self._logs())
        for kind, count in (("newFlashblockTransactions", expected), ("pendingLogs", logs), ("logs", logs)):
            entries = self._stream.lists[kind]
            # `_check_stream` reports missing entries.
            with contextlib.suppress(AssertionError):
                wait_for(partial(_has_length, entries, count), SECONDS, kind)

    def _check_steps(self) -> None:
        """Check that readers of the streams were shown a chain without contradictions, with the sealed blocks."""
        summary, feed = self.summary, self._feed
        self.faults += feed.faults + self._stream.faults
        summary.steps, summary.withdrawn = len(feed.shown), feed.withdrawn
        summary.removed = dict(self._stream.removed)
        for before, step in pairwise(feed.chain):
            if step.number == before.number + 1 and self._driver.chain[before.number].hash != before.hash:
                self.faults.append(f"block {before.number} is not its last step {before.hash}")

    def _check_chain(self, accepted: set[str]) -> None:
        """Check the streams and the accepted transactions against the sealed blocks."""
        blocks = list(self._blocks())
        included = [each["hash"] for block in blocks for each in block["transactions"]]
        if len(set(included)) < len(included):
            self.faults.append(f"{len(included) - len(set(included))} transactions are in the chain twice")
        for lost in sorted(accepted - set(included)):
            status = self._writer("foreseal_transactionStatus", lost)
            self.faults.append(f"accepted transaction {lost} is not on the chain: {status}")
        numbers = {each["hash"]: block["number"] for block in blocks for each in block["transactions"]}
        for hash in self._samples.sample(sorted(numbers), min(len(numbers), SAMPLE_SIZE)):
            status = self._writer("foreseal_transactionStatus", hash)
            if (status["status"], status["blockNumber"]) != ("sealed", numbers[hash]):
                self.faults.append(f"{hash} is sealed in {numbers[hash]}: {status}")
        self._check_stream("newFlashblockTransactions", [(hash,) for hash in included])
        logs = self._logs()
        self._check_stream("pendingLogs", logs)
        self._check_stream("logs", logs)

    def _check_stream(self, kind: str, expected: list[Entry]) -> None:
        entries = self._stream.lists[kind]
        if entries == expected:
            return
        missing, additional = Counter(expected) - Counter(entries), Counter(entries) - Counter(expected)
        self.faults.append(
            f"{kind}: {len(entries)} entries, the chain has {len(expected)}; missing {_listed(missing)}, additional "
            f"{_listed(additional)}"
        )

    def _blocks(self) -> Iterator[dict[str, Any]]:
        for block in self._driver.chain[1:]:
            answer = self._writer("eth_getBlockByNumber", hex(block.number), True)
            if answer["hash"] != block.hash:
                self.faults.append(f"block {block.number} is {answer['hash']}, {block.hash} was acknowledged")
            receipts = self._writer("eth_getBlockReceipts", hex(block.number))
            for transaction, receipt in zip(answer["transactions"][1:], receipts[1:], strict=True):
                if transaction["type"] == DEPOSIT_TYPE:
                    outcome = "created" if receipt["contractAddress"] else "called"
                    outcome = outcome if receipt["status"] == "0x1" else "failed"
                    self.summary.deposits[outcome] = self.summary.deposits.get(outcome, 0) + 1
            yield answer

    def _logs(self) -> list[Entry]:
        logs = self._writer("eth_getLogs", {"fromBlock": "0x1", "toBlock": "latest"})
        return [(log["transactionHash"], log["logIndex"], log["blockNumber"]) for log in logs]

    def _compare_journal(self) -> None:
        """Compare the chain that the feed led to, and all polled steps, with the steps of the journal."""
        datadir = self._folder / "data"
        steps = self._feed.journalled(datadir)
        written = [(step.cursor.hash, step.previous, step.transactions) for step in steps]
        shown = [(step.hash, step.previous, step.transactions) for step in self._feed.chain]
        if written != shown:
            self.faults.append(f"the feed led to {len(shown)} steps, the journal to {len(written)}")
        durable = {step.cursor.hash for step in steps_in(datadir)}
        for hash, transactions in self._polled.items():
            # Without an open payload, `pending` is an empty block, which commits to nothing.
            if transactions and hash not in durable:
                self.faults.append(f"pending {hash} with {len(transactions)} transactions was not durable")


def _listed(entries: Counter[Entry]) -> str:
    """Return the number of entries and the first ones."""
    return f"{entries.total()}: {list(entries)[:3]}"


def _shows(rpc: Rpc, step: str) -> bool:
    return bool(rpc("foreseal_status")["hash"] == step)


def _has_sealed(rpc: Rpc, block: str) -> bool:
    return bool(rpc("eth_getBlockByNumber", "latest", False)["hash"] == block)


def _has_length(entries: list[Entry], count: int) -> bool:
    return len(entries) >= count
