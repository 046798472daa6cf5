"""SIGKILL at each crash point, a reorganization of the chain, and a new process that resumes.

The chain is a live node with the real contracts. FORESEAL_PAYMENT_KILLS=all runs all points, otherwise a selection.
"""

import multiprocessing
import os
import secrets
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from foreseal.payments.contracts.development import PAYOUTS, TOKEN
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import Database, OrderState
from foreseal.payments.ledger.models import OrderRecord
from foreseal.payments.transfers.balance import balance
from live import DEV_ACCOUNTS, LiveNode, live_node
from live.accounts import key_of
from live.sending import Sender
from payments.fake.contracts import call_data, topic
from payments.processes.merchant_process import ACTUAL, AMOUNT, ENDS, LEGS, REFUND, TRANSACTIONS, Plan, live
from payments.shop import ShopBalance

MERCHANT, BUYER, *RECIPIENTS = DEV_ACCOUNTS[1], *DEV_ACCOUNTS[3:6]
ALL = os.environ.get("FORESEAL_PAYMENT_KILLS") == "all"
# One of each kind: after a commit, after sending, before a commit, and in the watcher's window.
SOME = [
    CrashPoint.TRANSACTION_SENT,
    CrashPoint.CAPTURE_STORED,
    CrashPoint.REFUND_DECIDED,
    CrashPoint.WINDOW_REPLACED,
]
# The node rejects no transaction of this life; `test_crash_points.py` ends a process at these points.
REJECTED = {CrashPoint.EMPTY_TRANSFER_DECIDED, CrashPoint.EMPTY_TRANSFER_STORED}
POINTS = [point for point in CrashPoint if point not in REJECTED] if ALL else SOME
PATIENCE = 200
TRANSFER, CANCELED = topic("Transfer(address,address,uint256)"), topic("AuthorizationCanceled(address,bytes32)")

pytestmark = pytest.mark.timeout(2 * PATIENCE + 60)
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["payments.processes.merchant_process", "httpx"])


@pytest.fixture(scope="module")
def node() -> Iterator[LiveNode]:
    """Provide a development chain with fast finality, whose payouts contract has an allowance."""
    depths = ("--safe-depth", "2", "--finalized-depth", "4")
    with live_node("--payments", *depths) as node:
        approve = call_data("approve(address,uint256)", PAYOUTS, 2**200)
        Sender(node.rpc, MERCHANT).send(to=TOKEN, data="0x" + approve.hex(), gas=100_000)
        node.rpc("anvil_mine", "0x1")
        yield node


def run(plan: Plan) -> int:
    """Run a process by a plan and return its exit code."""
    process = processes.Process(target=live, args=(plan,))
    process.start()
    process.join(PATIENCE)
    assert process.exitcode is not None, "the process does not end"
    return process.exitcode


def count(node: LiveNode) -> int:
    return int(node.rpc("eth_getTransactionCount", MERCHANT.address, "pending"), 16)


def moved(node: LiveNode, since: int) -> list[tuple[str, str, int]]:
    """Return sender, recipient and amount of every transfer from a block on, read independently."""
    logs = node.rpc("eth_getLogs", {"address": TOKEN, "fromBlock": hex(since), "toBlock": "pending"})
    return sorted(
        (f"0x{log['topics'][1][26:]}", f"0x{log['topics'][2][26:]}", int(log["data"], 16))
        for log in logs
        if log["topics"][0] == f"0x{TRANSFER.hex()}"
    )


def expected() -> list[tuple[str, str, int]]:
    merchant, buyer = MERCHANT.address.lower(), BUYER.address.lower()
    legs = [(merchant, each.address.lower(), amount) for each, amount in zip(RECIPIENTS, LEGS, strict=True)]
    return sorted([(buyer, merchant, AMOUNT), (buyer, merchant, ACTUAL), (merchant, buyer, REFUND), *legs])


def killed_and_born_again(node: LiveNode, database: str, point: CrashPoint) -> None:
    latest = int(node.rpc("eth_blockNumber"), 16)
    nonce, recipients = count(node), (RECIPIENTS[0].address, RECIPIENTS[1].address)
    keys = key_of(MERCHANT), key_of(BUYER)
    plan = Plan(node.url, database, *keys, recipients, latest + 1, secrets.token_bytes(32))
    assert run(replace(plan, point=point.name)) == -signal.SIGKILL
    # Transactions of these blocks are in later ones afterwards.
    node.rpc("anvil_reorg", min(3, int(node.rpc("eth_blockNumber"), 16) - latest), [])
    assert run(plan) == 0
    assert moved(node, latest + 1) == expected()
    wanted: dict[str, Any] = {"address": TOKEN, "fromBlock": hex(latest + 1), "topics": [f"0x{CANCELED.hex()}"]}
    assert len(node.rpc("eth_getLogs", wanted)) == 1
    assert count(node) == nonce + TRANSACTIONS
    compare(database)


def compare(database: str) -> None:
    """Check the final contents of the tables."""
    opened = Database(database)
    with opened.reading() as tx:
        sums = ShopBalance.from_balance(balance(tx))
        states = dict(tx.execute(select(OrderRecord.id, OrderRecord.state)).all())
    opened.close()
    assert (sums.received, sums.captured, sums.refunded) == (AMOUNT + ACTUAL, AMOUNT + ACTUAL, REFUND)
    assert (sums.unmatched, sums.reserved, sums.faults) == (0, 0, ())
    assert states == ENDS
    assert set(states.values()) == {OrderState.CAPTURED, OrderState.CANCELED, OrderState.EXPIRED}


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_no_payment_is_lost_or_doubled_on_sqlite(node: LiveNode, tmp_path: Path, point: CrashPoint) -> None:
    killed_and_born_again(node, f"sqlite:///{tmp_path}/pay.db", point)


@pytest.mark.parametrize("point", POINTS if ALL else POINTS[:1], ids=lambda point: point.name)
def test_no_payment_is_lost_or_doubled_on_postgresql(node: LiveNode, emptied: str, point: CrashPoint) -> None:
    killed_and_born_again(node, emptied, point)
