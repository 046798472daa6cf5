"""A worker's result for a step equals that of every process, and that of the block once it is sealed."""

import os
import random
import threading
from typing import Any, NamedTuple

import pytest
from eth_utils import to_checksum_address

from live import DEV_ACCOUNTS, Rpc, wait_for
from live.blocks import wait_for_block
from live.sending import Sender
from live.tag_queries import TagQuery, answers, tag_queries
from workers.node import SECONDS, WorkersNode

BLOCKS = int(os.environ.get("FORESEAL_WORKER_BLOCKS", "3"))
SEED = int(os.environ.get("FORESEAL_SEED", "1"))
# Reads the pool in addition to the view.
POOL_AWARE = {"eth_getTransactionCount"}
# Number of a block's steps that are queried again one by one.
STEPS = 3


class Seen(NamedTuple):
    """Results of one worker for `pending`."""

    worker: int
    position: tuple[int, int]
    hash: str
    answers: list[Any]


class Load(threading.Thread):
    """Sends calls and transfers, each from a random account through a random worker."""

    def __init__(self, node: WorkersNode, seed: int) -> None:
        super().__init__()
        self.end = threading.Event()
        self.failure: BaseException | None = None
        self._rng = random.Random(seed)
        self._contract = to_checksum_address(node.contract)
        workers = node.each()
        self._senders = [
            Sender(workers[number % len(workers)], account) for number, account in enumerate(DEV_ACCOUNTS[:6])
        ]

    def run(self) -> None:
        try:
            while not self.end.is_set():
                sender = self._rng.choice(self._senders)
                if self._rng.randrange(2):
                    sender.send(to=self._contract, gas=100_000)
                else:
                    sender.send(to=self._rng.choice(DEV_ACCOUNTS).address, value=self._rng.randrange(1000))
                self.end.wait(self._rng.random() * 0.05)
        except BaseException as error:  # the waiting thread asserts that there is none
            self.failure = error


def see(worker: int, rpc: Rpc, queries: list[TagQuery]) -> Seen:
    """Return the results of one batch, and therefore one view."""
    status, *found = answers(rpc, [("foreseal_status", []), *queries], "pending")
    return Seen(worker, (int(status["block"], 16), int(status["index"], 16)), status["hash"], found)


@pytest.mark.timeout(120 + 10 * BLOCKS)
def test_every_worker_serves_the_same_step_and_sealed_block(serving: WorkersNode) -> None:
    each = serving.each()
    everybody = [*each, *serving.others]
    queries = [
        (method, params) for method, params in tag_queries(each[0], serving.contract) if method not in POOL_AWARE
    ]
    assert len(queries) > 20
    load = Load(serving, SEED)
    load.start()
    seen: dict[int, dict[tuple[int, int], Seen]] = {}
    try:
        start = see(0, each[0], queries).position[0] + 1
        while see(0, each[0], queries).position[0] <= start + BLOCKS:
            for number, rpc in enumerate(each):
                one = see(number, rpc, queries)
                if start <= one.position[0] < start + BLOCKS:
                    seen.setdefault(number, {})[one.position] = one
    finally:
        load.end.set()
        load.join()
    assert load.failure is None
    for rpc in everybody:
        wait_for_block(rpc, start + BLOCKS)
    compared = sum(compare(everybody, queries, of_worker) for of_worker in seen.values())
    steps = sum(map(len, seen.values()))
    print(
        f"\n{len(queries)} methods, {len(each)} workers, {BLOCKS} blocks, {steps} steps seen: "
        f"{compared} answers compared"
    )
    assert len(seen) == len(each)
    assert steps > 2 * BLOCKS


def compare(everybody: list[Rpc], queries: list[TagQuery], seen: dict[tuple[int, int], Seen]) -> int:
    """Repeat one worker's queries on every process; return the number of equal results."""
    compared = 0
    rng = random.Random(SEED)
    for number in sorted({number for number, _ in seen}):
        of_block = {position: one for position, one in seen.items() if position[0] == number}
        last = of_block[max(of_block)]
        sealed = everybody[-1]("eth_getBlockByNumber", hex(number), False)["hash"]
        # `pending` and the number are one block if the last seen step is the sealed one.
        if last.hash == sealed:
            for rpc in everybody:
                compared += same(queries, last, answers(rpc, queries, hex(number)))
        for position in rng.sample(sorted(of_block), min(STEPS, len(of_block))):
            one = of_block[position]
            place = {"blockNumber": hex(position[0]), "flashblockIndex": hex(position[1])}
            for rpc in everybody:
                block = rpc("eth_getBlockByNumber", place, True)
                before = one.answers[[method for method, _ in queries].index("eth_getBlockByNumber")]
                assert block == before, f"{position} of worker {one.worker}"
                assert rpc("eth_getBlockByHash", one.hash, True) == before
                compared += 2
    return compared


def same(queries: list[TagQuery], seen: Seen, found: list[Any]) -> int:
    """Assert that the results equal earlier ones; return their number."""
    for (method, _), before, now in zip(queries, seen.answers, found, strict=True):
        assert now == before, f"{method} at {seen.position} of worker {seen.worker}"
    return len(found)


def test_subscriber_resumes_at_another_worker(serving: WorkersNode) -> None:
    first, second, *_ = serving.each()
    cursor = first("foreseal_getFlashblocks", None)["cursor"]
    sender = Sender(first, DEV_ACCOUNTS[7])
    sender.send(to=DEV_ACCOUNTS[8].address, value=1)
    page = wait_for(
        lambda: (found := first("foreseal_getFlashblocks", cursor))["flashblocks"] and found, SECONDS, "flashblocks"
    )
    newest = page["cursor"]
    wait_for(lambda: reached(second, newest), SECONDS, "the same place")
    told = second("foreseal_getFlashblocks", cursor)["flashblocks"]
    assert told[: len(page["flashblocks"])] == page["flashblocks"]
    assert isinstance(second("foreseal_getFlashblocks", newest)["flashblocks"], list)


def reached(rpc: Rpc, cursor: dict[str, str]) -> bool:
    status = rpc("foreseal_status")
    return (int(status["block"], 16), int(status["index"], 16)) >= (int(cursor["block"], 16), int(cursor["index"], 16))
