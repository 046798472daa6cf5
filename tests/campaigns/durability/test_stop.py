"""A clean stop preserves the pool and loses nothing; the start time is printed, not asserted."""

import signal
import statistics
import time
from pathlib import Path

import pytest

from durability.campaign import PRODUCTION
from live import DEV_ACCOUNTS, LiveNode, wait_for
from live.process import STOP_TIME, foreseal_command
from traffic.clients import Clients, Deployed
from traffic.compare import compare
from traffic.record import Record
from traffic.wallet import Wallet

PENDING = ("eth_getBlockByNumber", "pending", False)


def start(datadir: Path) -> LiveNode:
    return LiveNode([foreseal_command(), "dev", "--port", "0", *PRODUCTION, "--datadir", str(datadir)])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_clean_stop_preserves_the_pool_and_every_step(tmp_path: Path, number: int) -> None:
    wallet, record = Wallet(DEV_ACCOUNTS[0]), Record()
    node = start(tmp_path)
    # One executable transaction, and two behind a nonce gap.
    executed = wallet.sign(0, b"\x33" * 20, value=1)
    queued = [wallet.sign(nonce, b"\x33" * 20, value=1) for nonce in (2, 3)]
    for signed in (executed, *queued):
        node.rpc("eth_sendRawTransaction", signed.raw)
    record.saw_receipt(wait_for(lambda: node.rpc("eth_getTransactionReceipt", executed.hash), 30, "receipt"))
    record.saw_step(*node.rpc.batch(("foreseal_status",), PENDING, ("eth_getBlockReceipts", "pending")))
    node.rpc.close()
    node.process.send_signal(number)
    assert node.process.wait(STOP_TIME) == 0

    node = start(tmp_path)
    try:
        status = node.rpc("foreseal_status")
        assert (status["pool"]["start"], status["pool"]["queued"]) == ("restored", 2)
        compared = compare(node.rpc, record, record)
        assert (record.faults, compared >= 3) == ([], True)
        node.rpc("eth_sendRawTransaction", wallet.sign(1, b"\x33" * 20).raw)
        for signed in queued:
            receipt = wait_for(lambda: node.rpc("eth_getTransactionReceipt", signed.hash), 30, "receipt")  # noqa: B023
            assert receipt["status"] == "0x1"
    finally:
        assert node.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_under_load_is_clean(tmp_path: Path, number: int) -> None:
    record = Record()
    node = start(tmp_path)
    clients = Clients(node.url, Deployed(node.rpc).board, record, seed=1)
    wait_for(lambda: len(record.steps) > 20 and len(record.receipt_positions) > 20, 30, "load")
    clients.expect_the_end()
    node.rpc.close()
    node.process.send_signal(number)
    try:
        assert node.process.wait(STOP_TIME) == 0
    finally:
        clients.join()
        node.kill()
    node = start(tmp_path)
    try:
        assert node.rpc("foreseal_status")["pool"]["start"] == "restored"
        compared = compare(node.rpc, record, record)
        assert (record.faults, compared > 20) == ([], True)
    finally:
        assert node.stop() == 0


def test_start_time_to_first_response_is_bounded(tmp_path: Path) -> None:
    times = []
    for _ in range(3):
        begun = time.monotonic()
        node = start(tmp_path)
        times.append(time.monotonic() - begun)
        assert node.stop() == 0
    print(f"\nstart to ready, three starts: {', '.join(f'{each * 1000:.0f} ms' for each in times)}")
    assert statistics.median(times) > 0
