"""Filters that are created at one worker and queried at others, one after the other and concurrently."""

import random
import threading
from collections import Counter

from eth_utils.address import to_checksum_address

from live import DEV_ACCOUNTS, Rpc, wait_for
from live.sending import Sender
from workers.node import SECONDS, WorkersNode

ROUNDS = 12


def _positions(logs: list[dict[str, str]]) -> list[tuple[str, str]]:
    assert not any(log["removed"] for log in logs)
    return [(log["transactionHash"], log["logIndex"]) for log in logs]


def test_filter_polled_through_any_worker_returns_each_log_once(workers: WorkersNode) -> None:
    each, draw = workers.each(), random.Random(7)
    logs = each[0]("eth_newFilter", {"address": workers.contract, "toBlock": "pending"})
    arrivals = each[-1]("eth_newPendingTransactionFilter")
    sent: list[str] = []
    arrived: list[str] = []
    polled_logs: list[dict[str, str]] = []
    sender = Sender(each[0], DEV_ACCOUNTS[3])

    def poll() -> bool:
        polled_logs.extend(draw.choice(each)("eth_getFilterChanges", logs))
        arrived.extend(draw.choice(each)("eth_getFilterChanges", arrivals))
        return len(polled_logs) >= len(sent)

    for _ in range(ROUNDS):
        sent.append(sender.send(to=to_checksum_address(workers.contract), gas=100_000))
        poll()
    wait_for(poll, SECONDS, "the log of every call")
    poll()
    assert [name for name, _ in _positions(polled_logs)] == sent
    assert [name for name in arrived if name in sent] == sent
    assert each[-1]("eth_uninstallFilter", logs) is True
    assert each[0]("eth_uninstallFilter", logs) is False


def test_concurrent_filter_polls_return_every_log_once(workers: WorkersNode) -> None:
    each = workers.each()
    logs = each[0]("eth_newFilter", {"address": workers.contract, "toBlock": "pending"})
    lists: list[list[tuple[str, str]]] = [[] for _ in range(2 * len(each))]
    sent: list[str] = []
    over = threading.Event()

    def read(rpc: Rpc, positions: list[tuple[str, str]]) -> None:
        while not over.is_set():
            positions.extend(_positions(rpc("eth_getFilterChanges", logs)))

    readers = [threading.Thread(target=read, args=(workers.rpc(), positions)) for positions in lists]
    for reader in readers:
        reader.start()
    try:
        sender = Sender(each[0], DEV_ACCOUNTS[4])
        sent.extend(sender.send(to=to_checksum_address(workers.contract), gas=100_000) for _ in range(ROUNDS))
        wait_for(lambda: sum(map(len, lists)) >= len(sent), SECONDS, "the log of every call")
    finally:
        over.set()
        for reader in readers:
            reader.join()
    names = Counter(name for positions in lists for name, _ in positions)
    assert names == Counter(sent)
