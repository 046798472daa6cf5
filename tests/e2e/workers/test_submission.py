"""A client that sends to one worker and reads from another."""

import time

import pytest

from live import DEV_ACCOUNTS, Rpc, RpcFailure, wait_for
from live.sending import Sender, signed
from workers.node import SECONDS, WorkersNode

ROUNDS = 10


def nonce(rpc: Rpc, address: str) -> int:
    return int(rpc("eth_getTransactionCount", address, "pending"), 16)


def status(rpc: Rpc, name: str) -> str:
    return str(rpc("foreseal_transactionStatus", name)["status"])


def test_submission_is_visible_in_its_worker_first_and_then_elsewhere(workers: WorkersNode) -> None:
    first, second, *_ = workers.each()
    account = DEV_ACCOUNTS[0]
    for number in range(ROUNDS):
        taking, other = (first, second) if number % 2 else (second, first)
        before = nonce(taking, account.address)
        wait_for(lambda: nonce(other, account.address) == before, SECONDS, "same nonce")  # noqa: B023
        name = Sender(taking, account).send(nonce=before, to=DEV_ACCOUNTS[1].address, value=1)
        assert nonce(taking, account.address) == before + 1
        assert status(taking, name) in ("pooled", "preconfirmed", "sealed")
        wait_for(lambda: nonce(other, account.address) == before + 1, SECONDS, "nonce at the other worker")  # noqa: B023
        assert status(other, name) in ("pooled", "preconfirmed", "sealed")
        receipt = wait_for(lambda: taking("eth_getTransactionReceipt", name), SECONDS, "receipt")  # noqa: B023
        same = wait_for(lambda: other("eth_getTransactionReceipt", name), SECONDS, "receipt")  # noqa: B023
        place = "blockNumber", "transactionIndex", "gasUsed", "cumulativeGasUsed", "status"
        assert [same[field] for field in place] == [receipt[field] for field in place]


def test_nonce_never_decreases_on_a_connection(workers: WorkersNode) -> None:
    first, second, *_ = workers.each()
    account = DEV_ACCOUNTS[2]
    at = {rpc: nonce(rpc, account.address) for rpc in (first, second)}
    due = at[first]
    end = time.monotonic() + 3
    while time.monotonic() < end:
        taking = first if due % 2 else second
        Sender(taking, account).send(nonce=due, to=account.address)
        due += 1
        for rpc in at:
            now = nonce(rpc, account.address)
            assert at[rpc] <= now <= due
            at[rpc] = now
        assert at[taking] == due
    for rpc in at:
        wait_for(lambda: nonce(rpc, account.address) == due, SECONDS, "nonce")  # noqa: B023


@pytest.mark.parametrize("through", [0, 1])
def test_rejections_of_workers_equal_those_of_the_sequencer(workers: WorkersNode, through: int) -> None:
    rpc = workers.each()[through]
    account = DEV_ACCOUNTS[3 + through]
    first = nonce(rpc, account.address)
    rpc("eth_sendRawTransaction", signed(account, first))
    rpc("eth_sendRawTransaction", signed(account, first + 2))
    wait_for(lambda: int(rpc("eth_getTransactionCount", account.address, "latest"), 16) > first, SECONDS, "seal")
    refused = {
        "already known": signed(account, first + 2),
        "replacement transaction underpriced": signed(account, first + 2, value=1),
        "insufficient funds for gas * price + value": signed(account, first + 1, value=10**30),
        "nonce too low": signed(account, first, value=3),
    }
    for message, raw in refused.items():
        failures = []
        for asked in (rpc, workers.sequencer):
            with pytest.raises(RpcFailure) as failure:
                asked("eth_sendRawTransaction", raw)
            failures.append((failure.value.code, failure.value.message, failure.value.data))
        assert failures[0] == failures[1]
        assert failures[0][:2] == (-32000, message)


def test_synchronous_submission_returns_its_receipt(workers: WorkersNode) -> None:
    for rpc, account in zip(workers.each(), DEV_ACCOUNTS[10:], strict=False):
        raw = signed(account, nonce(rpc, account.address))
        receipt = rpc("eth_sendRawTransactionSync", raw, 30_000)
        assert receipt["status"] == "0x1"
        assert rpc("eth_getTransactionReceipt", receipt["transactionHash"])["from"] == account.address.lower()
