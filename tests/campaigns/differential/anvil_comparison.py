"""Random transactions through Foreseal, and its sealed blocks once more through anvil."""

import gzip
import json
from random import Random
from typing import Any

from differential.anvil import Anvil, anvil
from differential.chain import GAS_LIMIT, Filled, filled, genesis_of
from differential.comparison import Comparison
from differential.differences import (
    BLOCK,
    BLOCK_WITH_BLOBS,
    KINDS,
    LEFT_OUT,
    LOG,
    RECEIPT,
    RECEIPT_WITHOUT_BLOBS,
    TOLERANCE,
    without,
)
from differential.failures import Failure, Rpc, answer
from differential.lossless_gas import is_lossless, run
from differential.workload import HISTORY, World

CALLS = 6
"""Number of calls, and of estimates, at every block."""
_BLOB_TYPE = "0x3"
_TRANSFER_GAS = 21_000


def compare_with_anvil(seed: int, transactions: int) -> Comparison:
    """Fill blocks until this many transactions are sealed, mine each block again in anvil, and compare.

    It ends at the first difference, since all later blocks may differ.
    """
    world = World(seed, LEFT_OUT)
    genesis = genesis_of(world)
    comparison = Comparison(seed)
    with filled(genesis, world, seed) as subject, anvil(genesis) as peer:
        both = Both(subject, peer, comparison, seed)
        while comparison.transactions < transactions and not comparison.faults:
            both.next_block()
        both.compare_all_accounts()
        comparison.kinds, comparison.refused = subject.kinds, subject.refused
    return comparison


class Both:
    """Two nodes with the same chain, and the differences between them."""

    def __init__(self, subject: Filled, peer: Anvil, comparison: Comparison, seed: int) -> None:
        self._subject = subject
        self._peer = peer
        self._comparison = comparison
        self._ours: Rpc = subject.chain.rpc
        self._theirs: Rpc = peer.rpc
        self._random = Random(f"anvil {seed}")
        self._slots: dict[str, set[str]] = {}

    def next_block(self) -> None:
        """Make one block on each node, and compare all its changes."""
        block, receipts = self._subject.next_block()
        number = block["number"]
        mined = self._peer.repeat(block, [self._subject.raws[tx_hash] for tx_hash in block["transactions"]])
        blobs = any(receipt["type"] == _BLOB_TYPE for receipt in receipts)
        left_out = (BLOCK, BLOCK_WITH_BLOBS) if blobs else (BLOCK,)
        self._same(f"block {number}", without(block, *left_out), without(mined, *left_out))
        theirs = self._theirs("eth_getBlockReceipts", number)
        for one, other in zip(receipts, theirs, strict=True):
            self._same(f"receipt of {one['transactionHash']}", _receipt(one), _receipt(other))
        self._comparison.count(block, receipts)
        for address in self._touched(number):
            self._compare_account(address)
        for _ in range(CALLS):
            self._compare_call(self._subject.workload.call())

    def compare_all_accounts(self) -> None:
        """Compare every account, and every storage word, that either node ever had."""
        dumped = self._theirs("anvil_dumpState")
        accounts = json.loads(gzip.decompress(bytes.fromhex(dumped[2:])))["accounts"]
        for address, account in accounts.items():
            self._slots.setdefault(address.lower(), set()).update(account["storage"])
        # The storage of block hashes, which anvil does not record.
        self._slots.pop(HISTORY, None)
        for address in self._slots:
            self._compare_account(address)
        self._comparison.compared["accounts"] = len(self._slots)
        self._comparison.compared["slots"] = sum(map(len, self._slots.values()))

    def _touched(self, number: str) -> list[str]:
        """Return the accounts that the block's transactions read or changed; record all their slots."""
        touched: dict[str, None] = {}
        for trace in self._ours("debug_traceBlockByNumber", number, {"tracer": "prestateTracer"}):
            for address, account in trace["result"].items():
                touched[address] = None
                self._slots.setdefault(address, set()).update(account.get("storage", ()))
        return list(touched)

    def _compare_account(self, address: str) -> None:
        methods = "eth_getBalance", "eth_getTransactionCount", "eth_getCode"
        queries: list[tuple[str, ...]] = [(method, address, "latest") for method in methods]
        queries += [("eth_getStorageAt", address, slot, "latest") for slot in sorted(self._slots[address])]
        for query in queries:
            self._same(" ".join(query), self._ours(*query), self._theirs(*query))

    def _compare_call(self, call: dict[str, Any]) -> None:
        gas = hex(self._random.randrange(50_000, 2_000_000))
        ours, theirs = self._call_both("eth_call", call | {"gas": gas})
        self._same(f"eth_call {call} with {gas} gas", ours, theirs)
        self._comparison.compared["calls"] += 1
        ours, theirs = self._call_both("eth_estimateGas", call)
        self._comparison.compared["estimates"] += 1
        if self._is_transfer(call) and theirs == hex(_TRANSFER_GAS) != ours:
            # anvil does not test its estimate; the call fails with that gas in anvil as well.
            tried = self._call_both("eth_call", call | {"gas": theirs})
            self._same(f"eth_call {call}", *tried)
            if not isinstance(tried[0], Failure):
                self._fault(f"eth_estimateGas {call}", ours, theirs)
            return
        if isinstance(ours, Failure) or isinstance(theirs, Failure):
            self._same(f"eth_estimateGas {call}", ours, theirs)
            return
        own, other = int(ours, 16), int(theirs, 16)
        is_higher = own > other * (1 + TOLERANCE) and is_lossless(
            self._theirs, call, int(own / (1 + TOLERANCE)), run(self._theirs, call, GAS_LIMIT)
        )
        if is_higher or other > own * (1 + TOLERANCE):
            self._fault(f"eth_estimateGas {call}", own, other)
        results = self._call_both("eth_call", call | {"gas": ours})
        if any(isinstance(result, Failure) for result in results):
            self._fault(f"eth_call {call} with the gas of its estimate", *results)

    def _is_transfer(self, call: dict[str, Any]) -> bool:
        plain = call["data"] == "0x" and not call.get("accessList") and "to" in call
        return plain and self._ours("eth_getCode", call["to"], "latest") == "0x"

    def _call_both(self, method: str, call: dict[str, Any]) -> tuple[Any, Any]:
        params = (call, "latest")
        return answer(self._ours, KINDS, method, params), answer(self._theirs, KINDS, method, params)

    def _same(self, what: str, ours: Any, theirs: Any) -> None:
        if ours == theirs:
            return
        if isinstance(ours, dict) and isinstance(theirs, dict):
            differing = {name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)}
            ours, theirs = ({name: side.get(name) for name in differing} for side in (ours, theirs))
        self._fault(what, ours, theirs)

    def _fault(self, what: str, ours: Any, theirs: Any) -> None:
        self._comparison.faults.append(f"{what}: {ours}, anvil has {theirs}")


def _receipt(receipt: dict[str, Any]) -> dict[str, Any]:
    left_out = (RECEIPT,) if receipt["type"] == _BLOB_TYPE else (RECEIPT, RECEIPT_WITHOUT_BLOBS)
    return without(receipt, *left_out) | {"logs": [without(log, LOG) for log in receipt["logs"]]}
