"""`foreseal dev --automine`: a transaction whose receipt was returned is in the latest block."""

import pytest

from live import DEV_ACCOUNTS, LiveNode, Rpc, live_node
from live.sending import signed

SENDER, RECIPIENT = DEV_ACCOUNTS[0].address, "0x" + "00" * 19 + "77"


def send(rpc: Rpc) -> str:
    tx_hash: str = rpc("eth_sendTransaction", {"from": SENDER, "to": RECIPIENT, "value": "0x1"})
    return tx_hash


def assert_sealed(rpc: Rpc, count: int) -> None:
    """Send `count` transactions one by one; each must be in the latest block at once."""
    for _ in range(count):
        before = int(rpc("eth_getBalance", RECIPIENT, "latest"), 16)
        receipt = rpc("eth_getTransactionReceipt", send(rpc))
        latest = rpc("eth_getBlockByNumber", "latest", False)
        assert (receipt["blockNumber"], receipt["blockHash"]) == (latest["number"], latest["hash"])
        assert int(rpc("eth_getBalance", RECIPIENT, "latest"), 16) == before + 1


@pytest.mark.parametrize("options", [("--automine",), ("--block-time", "0"), ("--block-time", "0s")], ids=" ".join)
def test_receipt_is_in_the_latest_block(options: tuple[str, ...]) -> None:
    with live_node(*options) as node:
        assert node.rpc("anvil_getAutomine") is True
        assert node.rpc("eth_blockNumber") == "0x0"
        assert_sealed(node.rpc, 5)
        assert node.rpc("eth_blockNumber") == "0x5"
        pending = node.rpc("eth_getBlockByNumber", "pending", False)
        assert (pending["number"], pending["transactions"]) == ("0x6", [])


def test_sync_submission_returns_a_sealed_receipt(tmp_path: object) -> None:
    with live_node("--automine") as node:
        raw = signed(DEV_ACCOUNTS[0], 0, to=DEV_ACCOUNTS[1].address, value=1)
        receipt = node.rpc("eth_sendRawTransactionSync", raw)
        assert receipt["blockHash"] == node.rpc("eth_getBlockByNumber", "latest", False)["hash"]


def test_enabling_automine_seals_the_block_and_the_pool(node: LiveNode) -> None:
    rpc = node.rpc
    hashes = [send(rpc) for _ in range(3)]
    rpc("evm_setAutomine", True)
    latest = int(rpc("eth_blockNumber"), 16)
    receipts = [rpc("eth_getTransactionReceipt", tx_hash) for tx_hash in hashes]
    assert all(int(receipt["blockNumber"], 16) <= latest for receipt in receipts)
    assert rpc("txpool_status") == {"pending": "0x0", "queued": "0x0"}
    assert_sealed(rpc, 2)
    rpc("evm_setIntervalMining", 1)


def test_block_time_in_seconds_without_unit() -> None:
    with live_node("--block-time", "1") as node:
        assert node.rpc("anvil_getIntervalMining") == 1
