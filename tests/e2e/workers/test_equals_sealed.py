"""A worker's result for a step equals that of every process, and that of the block once it is sealed."""

import os
import random
import threading

import pytest
from eth_utils import to_checksum_address

from live import DEV_ACCOUNTS, Rpc, wait_for
from live.blocks import wait_for_block
from live.sending import Sender
from live.step_answers import StepAnswersByPosition, compare_with_sealed, read_pending, view_queries
from workers.node import SECONDS, WorkersNode

BLOCKS = int(os.environ.get("FORESEAL_WORKER_BLOCKS", "3"))
SEED = int(os.environ.get("FORESEAL_SEED", "1"))


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


@pytest.mark.timeout(120 + 10 * BLOCKS)
def test_every_worker_serves_the_same_step_and_sealed_block(serving: WorkersNode) -> None:
    each = serving.each()
    everybody = [*each, *serving.others]
    queries = view_queries(each[0], serving.contract)
    assert len(queries) > 20
    load = Load(serving, SEED)
    load.start()
    seen: dict[int, StepAnswersByPosition] = {}
    try:
        start = read_pending(0, each[0], queries).position[0] + 1
        while read_pending(0, each[0], queries).position[0] <= start + BLOCKS:
            for number, rpc in enumerate(each):
                one = read_pending(number, rpc, queries)
                if start <= one.position[0] < start + BLOCKS:
                    seen.setdefault(number, {})[one.position] = one
    finally:
        load.end.set()
        load.join()
    assert load.failure is None
    for rpc in everybody:
        wait_for_block(rpc, start + BLOCKS)
    rng = random.Random(SEED)
    compared = sum(compare_with_sealed(everybody, queries, of_worker, rng) for of_worker in seen.values())
    steps = sum(map(len, seen.values()))
    print(
        f"\n{len(queries)} methods, {len(each)} workers, {BLOCKS} blocks, {steps} steps seen: "
        f"{compared} answers compared"
    )
    assert len(seen) == len(each)
    assert steps > 2 * BLOCKS


def test_subscriber_resumes_at_another_worker(serving: WorkersNode) -> None:
    first, second, *_ = serving.each()
    cursor = first("foreseal_getFlashblocks", None)["cursor"]
    sender = Sender(first, DEV_ACCOUNTS[7])
    sender.send(to=DEV_ACCOUNTS[8].address, value=1)
    page = wait_for(
        lambda: (answer := first("foreseal_getFlashblocks", cursor))["flashblocks"] and answer, SECONDS, "flashblocks"
    )
    newest = page["cursor"]
    wait_for(lambda: reached(second, newest), SECONDS, "the same place")
    told = second("foreseal_getFlashblocks", cursor)["flashblocks"]
    assert told[: len(page["flashblocks"])] == page["flashblocks"]
    assert isinstance(second("foreseal_getFlashblocks", newest)["flashblocks"], list)


def reached(rpc: Rpc, cursor: dict[str, str]) -> bool:
    status = rpc("foreseal_status")
    return (int(status["block"], 16), int(status["index"], 16)) >= (int(cursor["block"], 16), int(cursor["index"], 16))
