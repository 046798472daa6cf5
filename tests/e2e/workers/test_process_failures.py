"""Processes of a live node die, seen by clients of the others."""

import http.client
import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from live import DEV_ACCOUNTS, LiveNode, Rpc, RpcFailure, wait_for
from live.sending import Sender, signed
from traffic.compare import compare
from traffic.crowd import Crowd
from traffic.record import Record
from workers.node import SECONDS, WorkersNode, workers_node

GONE = (ConnectionError, http.client.HTTPException)
_NUMBERS = itertools.count()
AWAY = "the sequencer is not reachable: no transactions are accepted until it is back"


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[WorkersNode]:
    """Run a node for each test."""
    with workers_node(tmp_path / "data") as node:
        yield node


def test_restarted_worker_has_the_same_chain(workers: WorkersNode) -> None:
    first, second = workers.each()
    before = first("eth_getBlockByNumber", "latest", True)
    dead = workers.pids("worker")
    os.kill(dead[0], signal.SIGKILL)
    wait_for(lambda: dead[0] not in workers.pids("worker"), SECONDS, "the end of a worker")
    broken = []
    for rpc in (first, second):
        try:
            assert rpc("eth_getBlockByHash", before["hash"], True) == before
        except GONE:
            broken.append(rpc)
    # The client of the killed worker gets an error, or notices the end in time and connects to the other worker.
    assert len(broken) <= 1
    wait_for(lambda: len(workers.pids("worker")) == 2 and workers.pids("worker") != dead, SECONDS, "another worker")
    for rpc in workers.each():
        assert rpc("eth_getBlockByHash", before["hash"], True) == before


def test_workers_are_replaced_under_load_without_lost_requests(workers: WorkersNode) -> None:
    record = Record()
    before, sequencer = workers.pids("worker"), workers.pids("sequencer")
    crowd = Crowd(workers.live.url, bytes.fromhex(workers.contract[2:]), record, 1, submissions=60, readers=40)
    try:
        wait_for(lambda: crowd.sent > 20 and crowd.reads > 20, SECONDS, "load")
        workers.live.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "workers replaced" in workers.live.printed, 2 * SECONDS, "replacement")
        sent = crowd.sent
        wait_for(lambda: crowd.sent > sent + 20, SECONDS, "load afterwards")
    finally:
        crowd.end()
    crowd.stop()
    assert not set(workers.pids("worker")) & set(before)
    assert workers.pids("sequencer") == sequencer
    assert (crowd.breaks, record.faults, dict(crowd.refused)) == ([], [], {})
    assert crowd.led > 0
    part = record.after((0, 0))
    for rpc in workers.each():
        assert compare(rpc, part, record) > 10
    assert record.faults == []
    print(f"\n{crowd.sent} submissions and {crowd.reads} reads over a replacement, {crowd.led} connections led over")


def test_reads_continue_and_submissions_fail_without_the_sequencer(workers: WorkersNode) -> None:
    each = workers.each()
    (sequencer,) = workers.pids("sequencer")
    sent = Sender(each[0], DEV_ACCOUNTS[0]).send(to=DEV_ACCOUNTS[1].address, value=1)
    wait_for(lambda: each[0]("eth_getTransactionReceipt", sent), SECONDS, "receipt")
    # It does not restart while the supervisor is stopped.
    os.kill(workers.live.process.pid, signal.SIGSTOP)
    os.kill(sequencer, signal.SIGKILL)
    for rpc in each:
        wait_for(lambda: refused(rpc), SECONDS, "refusal")  # noqa: B023
        seen = rpc("eth_getBlockByNumber", "pending", False)
        age = rpc("foreseal_status")["age"]
        wait_for(lambda: rpc("foreseal_status")["age"] > age + 100, SECONDS, "growing age")  # noqa: B023
        assert rpc("eth_getBlockByNumber", "pending", False) == seen
        assert rpc("foreseal_status")["phase"] == "disconnected"
        assert rpc("eth_getTransactionReceipt", sent)["status"] == "0x1"
        wait_for(lambda: rpc.request("GET", "/readyz").status == 503, SECONDS, "red health")  # noqa: B023
    os.kill(workers.live.process.pid, signal.SIGCONT)
    for rpc in each:
        wait_for(lambda: rpc.request("GET", "/readyz").status == 200, SECONDS, "sequencer")  # noqa: B023
        again = rpc("eth_getBlockByNumber", {"blockNumber": seen["number"], "flashblockIndex": "0x0"}, False)
        assert again["parentHash"] == seen["parentHash"]
        assert rpc("eth_getBlockByHash", seen["hash"], False) == seen
        assert rpc("foreseal_status")["phase"] == "following"
    name = Sender(each[1], DEV_ACCOUNTS[0]).send(to=DEV_ACCOUNTS[1].address, value=1)
    for rpc in each:
        wait_for(lambda: rpc("eth_getTransactionReceipt", name), SECONDS, "receipt")  # noqa: B023


def refused(rpc: Rpc) -> bool:
    """Return True if a submission fails because there is no sequencer."""
    try:
        rpc("eth_sendRawTransaction", signed(DEV_ACCOUNTS[5], 10**6 + next(_NUMBERS)))
    except RpcFailure as error:
        return (error.code, error.message) == (-32002, AWAY)
    return False


def test_pool_survives_a_clean_stop(tmp_path: Path) -> None:
    with workers_node(tmp_path / "data") as node:
        rpc = node.each()[0]
        account = DEV_ACCOUNTS[0]
        gap = int(rpc("eth_getTransactionCount", account.address, "pending"), 16) + 1
        queued = Sender(rpc, account).send(nonce=gap, to=account.address)
        node.close()
        assert node.live.stop() == 0
        again = LiveNode(node.command)
        try:
            wait_for(lambda: again.rpc("foreseal_transactionStatus", queued)["status"] == "queued", SECONDS, "pool")
        finally:
            assert again.stop() == 0
