"""The test helpers that anvil also has: one scripted scenario on both, with equal responses and equal chains.

One intended difference is compared only after sealing: anvil writes to its newest block, our node to the pending block.
Our node also returns the transactions of reverted blocks to the pool.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from differential.anvil import Anvil, anvil
from live import DEV_ACCOUNTS, LiveNode, live_node
from live.sending import GWEI, signed

ALICE, BOB = DEV_ACCOUNTS[:2]
RICH = "0x" + "a1" * 20
CONTRACT = "0x" + "c0" * 20
FEES = "0x" + "fe" * 20
WATCHED = (ALICE.address, BOB.address, RICH, CONTRACT, FEES)
# SSTORE(0, CALLVALUE)
CODE = "0x34600055"
WORD = "0x" + "00" * 31 + "2a"
TIME = 2_000_000_000
PRICE = 2 * GWEI


class Both:
    """A Foreseal node and anvil, which receive the same calls."""

    def __init__(self, node: LiveNode, peer: Anvil) -> None:
        self.node = node.rpc
        self.peer = peer.rpc

    def __call__(self, method: str, *params: Any) -> Any:
        """Return the result of both, which must be equal."""
        ours, theirs = self.node(method, *params), self.peer(method, *params)
        assert ours == theirs, f"{method} {params}"
        return ours

    def refused(self, method: str, *params: Any) -> None:
        """Assert that both reject the call."""
        for rpc in (self.node, self.peer):
            assert "error" in rpc.envelope(method, *params), f"{method} {params} at {rpc.url}"

    def mine(self, timestamp: int) -> None:
        """Seal pending transactions in a block with the same base fee and time, and compare the state."""
        self("anvil_setNextBlockBaseFeePerGas", hex(GWEI))
        self("evm_setNextBlockTimestamp", timestamp)
        assert self("evm_mine") == "0x0"
        self.compare()

    def compare(self) -> None:
        """Compare the newest block's number and time, and the watched accounts."""
        ours, theirs = (rpc("eth_getBlockByNumber", "latest", False) for rpc in (self.node, self.peer))
        same = ("number", "timestamp", "baseFeePerGas", "gasUsed", "miner")
        assert {name: ours[name] for name in same} == {name: theirs[name] for name in same}
        assert len(ours["transactions"]) == len(theirs["transactions"])
        for address in WATCHED:
            for method in ("eth_getBalance", "eth_getTransactionCount", "eth_getCode"):
                self(method, address, "latest")
        for slot in ("0x0", "0x5"):
            self("eth_getStorageAt", CONTRACT, slot, "latest")


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Both]:
    with live_node("--datadir", str(tmp_path), "--fee-recipient", FEES) as node:
        # Both seal only on command, and start at the same height.
        node.rpc("evm_setIntervalMining", 0)
        node.rpc("anvil_rollback", int(node.rpc("eth_blockNumber"), 16))
        genesis: dict[str, Any] = json.loads((tmp_path / "genesis.json").read_text())
        with anvil(genesis) as peer:
            peer.rpc("anvil_setCoinbase", FEES)
            yield Both(node, peer)


def transfer(nonce: int, value: int = 1) -> str:
    return signed(ALICE, nonce, to=BOB.address, value=value, gasPrice=PRICE)


def test_development_methods_match_anvil(both: Both) -> None:
    assert both("anvil_getAutomine") is False
    # State changes.
    both("anvil_setBalance", RICH, hex(10**18))
    both("anvil_setNonce", RICH, "0x7")
    both("anvil_setCode", CONTRACT, CODE)
    assert both("anvil_setStorageAt", CONTRACT, "0x5", WORD) is True
    both("eth_sendRawTransaction", transfer(0))
    both.mine(TIME)
    assert both("eth_getStorageAt", CONTRACT, "0x5", "latest") == WORD

    # Revert to a snapshot, nested in an outer one.
    outer = both("evm_snapshot")
    both("eth_sendRawTransaction", transfer(1, 5))
    both.mine(TIME + 10)
    inner = both("evm_snapshot")
    both("hardhat_setBalance", BOB.address, "0x1")
    both.mine(TIME + 20)
    assert both("evm_revert", inner) is True
    both.compare()
    assert both("evm_revert", outer) is True
    assert both("evm_revert", inner) is False
    both.compare()
    assert both("eth_blockNumber") == "0x1"
    both("eth_sendRawTransaction", transfer(1, 9))
    both.mine(TIME + 30)

    # A sender without a key.
    call = {"from": RICH, "to": CONTRACT, "value": "0x63", "gas": hex(100_000), "gasPrice": hex(PRICE)}
    both.refused("eth_sendTransaction", call)
    both("anvil_impersonateAccount", RICH)
    for rpc in (both.node, both.peer):
        rpc("eth_sendTransaction", call)
    both.mine(TIME + 40)
    assert int(both("eth_getStorageAt", CONTRACT, "0x0", "latest"), 16) == 99
    assert both("eth_getTransactionCount", RICH, "latest") == "0x8"
    both("anvil_stopImpersonatingAccount", RICH)
    both.refused("eth_sendTransaction", call)

    # Time and blocks.
    both.refused("evm_setNextBlockTimestamp", TIME)
    both("evm_setNextBlockTimestamp", TIME + 100)
    both("anvil_mine", "0x3", "0x7")
    numbers = range(int(both("eth_blockNumber"), 16) + 1)
    times = [
        [int(rpc("eth_getBlockByNumber", hex(number), False)["timestamp"], 16) for number in numbers[-3:]]
        for rpc in (both.node, both.peer)
    ]
    assert times[0] == times[1] == [TIME + 100, TIME + 107, TIME + 114]

    # Dropped from the pool and never mined. Ours is behind a nonce gap, because executable transactions are
    # pre-confirmed at once; anvil drops only executable ones.
    dropped = [(both.node, transfer(5, 3)), (both.peer, transfer(2, 3))]
    hashes = [(rpc, rpc("eth_sendRawTransaction", raw)) for rpc, raw in dropped]
    assert all(rpc("anvil_dropTransaction", tx_hash) == tx_hash for rpc, tx_hash in hashes)
    both.mine(TIME + 200)
    assert [rpc("eth_getTransactionReceipt", tx_hash) for rpc, tx_hash in hashes] == [None, None]

    # Empty blocks are rolled back, or replaced by one with a transaction.
    both("anvil_rollback", 2)
    both("eth_blockNumber")
    both("anvil_reorg", 1, [[transfer(2, 4), 0]])
    both("eth_blockNumber")
    for address in WATCHED:
        both("eth_getTransactionCount", address, "latest")
    both("eth_getBalance", BOB.address, "latest")
    both.refused("anvil_reorg", 1_000_000, [])
