"""Random sequences of development methods on Foreseal and on anvil or hardhat's node, from one state and time."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from random import Random
from typing import Any

from differential.comparison import Comparison
from differential.development_differences import ANVIL, COMPARED_RESULTS, HARDHAT, WRITES, PeerDifferences
from differential.development_peers import GAS_LIMIT, Peer, anvil_peer, foreseal_peer, hardhat_peer
from differential.development_sequences import (
    FEES,
    RECORDER,
    RECORDING,
    SLOTS,
    WATCHED,
    Id,
    Operation,
    Operations,
    State,
)
from differential.failures import Failure, answer
from json_differences import json_differences
from live import Rpc, wait_for
from live.sending import GWEI

LENGTH = 30
"""Operations of a sequence."""
_FIRST_TIME = 4_000_000_000
"""Far ahead of every clock, so that each node counts from it."""
_FIRST_BLOCK = 10
_RECEIPT = "blockNumber", "status", "gasUsed", "transactionIndex", "effectiveGasPrice"
_SEAL_TIME = 10.0
_SECONDS = 10
"""Seconds by which timestamps that no operation set may differ: each node reads its clock."""
Peers = Callable[[], AbstractContextManager[Peer]]


def compare_development_with_anvil(seed: int, operations: int) -> Comparison:
    """Call this many development methods on Foreseal and anvil, and compare results, blocks and accounts."""
    return _compare(anvil_peer, ANVIL, seed, operations)


def compare_development_with_hardhat(seed: int, operations: int) -> Comparison:
    """Do the same with hardhat's node (edr)."""
    return _compare(hardhat_peer, HARDHAT, seed, operations)


def _compare(peers: Peers, differences: PeerDifferences, seed: int, operations: int) -> Comparison:
    comparison, number = Comparison(seed), 0
    with foreseal_peer() as ours, peers() as theirs:
        while comparison.compared["operations"] < operations:
            _Sequence((ours, theirs), differences, Random(f"development {seed} {number}"), comparison, number).run()
            number += 1
    return comparison


def prepare_next_block(rpc: Rpc) -> None:
    """Give the next block the same fields on every node."""
    rpc("hardhat_setCoinbase", FEES)
    rpc("evm_setBlockGasLimit", hex(GAS_LIMIT))
    rpc("hardhat_setNextBlockBaseFeePerGas", hex(GWEI))


class _Sequence:
    """One sequence on both nodes, from a reset on. It ends at the first difference, since all later ones may follow."""

    def __init__(
        self,
        peers: tuple[Peer, Peer],
        differences: PeerDifferences,
        random: Random,
        comparison: Comparison,
        number: int,
    ) -> None:
        self._peers = peers
        self._differences = differences
        self._random = random
        self._operations = Operations(random)
        self._comparison = comparison
        self._ordinal = number
        self._results: list[tuple[Any, Any]] = []
        self._sent: list[int] = []
        """Ordinals of the transactions that were accepted, and not reverted since."""
        self._state = State(_FIRST_TIME)

    def run(self) -> None:
        """Run it, and record its first difference with the operations before it."""
        self._prepare()
        made: list[Operation] = []
        for _ in range(LENGTH):
            self._state.time = self._timestamp()
            operation = self._operations.next(self._state)
            if self._differences.is_left_out(operation, self._state):
                continue
            made.append(operation)
            if operation.method == "evm_setAutomine":
                self._wait_for_the_step()
            number = self._number(0)
            ours, theirs = (self._call(side, operation) for side in (0, 1))
            self._follow(operation, number, ours)
            self._results.append((ours, theirs))
            self._comparison.compared["operations"] += 1
            differing = self._differences_of_results(operation, ours, theirs)
            self._learn(operation, ours)
            differing = differing or self._differences_of_chains()
            if differing:
                names = ", ".join(map(str, made))
                self._comparison.faults.append(f"sequence {self._ordinal}: {names}: {differing}")
                return

    def _prepare(self) -> None:
        for peer in self._peers:
            rpc = peer.rpc
            peer.reset()
            rpc("evm_setAutomine", True)
            for address in WATCHED:
                rpc("hardhat_stopImpersonatingAccount", address)
            rpc("hardhat_setCode", RECORDER, RECORDING)
            # A write seals a block here.
            rpc("hardhat_mine", hex(_FIRST_BLOCK - int(rpc("eth_blockNumber"), 16)))
            prepare_next_block(rpc)
            rpc("evm_setNextBlockTimestamp", _FIRST_TIME)
            rpc("evm_mine")

    def _number(self, side: int) -> int:
        return int(self._peers[side].rpc("eth_blockNumber"), 16)

    def _wait_for_the_step(self) -> None:
        """Wait until all executable transactions are in steps: automine seals those first, then those of the pool."""
        rpc = self._peers[0].rpc
        wait_for(lambda: rpc("txpool_status")["pending"] == "0x0", _SEAL_TIME, "the step of all transactions")

    def _follow(self, operation: Operation, number: int, ours: Any) -> None:
        """Do what an intended difference needs, so that the chains are equal again."""
        ours_rpc, theirs_rpc = (peer.rpc for peer in self._peers)
        if operation.method in WRITES:
            # Here a write belongs to a block, which is sealed at once under automine; elsewhere to none.
            if self._number(0) == number:
                ours_rpc("evm_mine")
            theirs_rpc("evm_mine")
        elif operation.method == "evm_setAutomine" and operation.params == (True,) and self._number(0) > number:
            if not self._differences.seals_on_automine:
                theirs_rpc("evm_mine")
            wait_for(lambda: self._number(1) > number, _SEAL_TIME, "the block that automine seals")
        elif operation.method == "evm_revert" and ours is True and not self._differences.reverts_fields:
            for rpc in (ours_rpc, theirs_rpc):
                prepare_next_block(rpc)
                rpc("evm_setNextBlockTimestamp", self._timestamp() + 1)
        elif operation.method == "eth_sendTransaction" and self._number(0) > number:
            wait_for(lambda: self._number(1) > number, _SEAL_TIME, "the block of a transaction")

    def _timestamp(self) -> int:
        return max(int(peer.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16) for peer in self._peers)

    def _call(self, side: int, operation: Operation) -> Any:
        params = [
            self._results[value.operation][side] if isinstance(value, Id) else value for value in operation.params
        ]
        method = self._differences.names.get(operation.method, operation.method)
        return answer(self._peers[side].rpc, (), method, params)

    def _differences_of_results(self, operation: Operation, ours: Any, theirs: Any) -> str:
        if isinstance(ours, Failure) is not isinstance(theirs, Failure):
            return f"result {ours}, {self._peers[1].name} {theirs}"
        if operation.method in COMPARED_RESULTS and not isinstance(ours, Failure) and ours != theirs:
            return f"result {ours}, {self._peers[1].name} {theirs}"
        return ""

    def _learn(self, operation: Operation, ours: Any) -> None:
        state, at = self._state, len(self._results) - 1
        if isinstance(ours, Failure):
            return
        match operation.method:
            case "evm_snapshot":
                state.snapshots.append(at)
            case "evm_revert" if ours is True:
                (id,) = operation.params
                state.snapshots = [each for each in state.snapshots if each < id.operation]
                self._sent = [each for each in self._sent if each < id.operation]
            case "eth_sendTransaction":
                self._sent.append(at)

    def _differences_of_chains(self) -> str:
        ours, theirs = (self._observed(side) for side in (0, 1))
        times = [observed.pop("timestamp") for observed in (ours, theirs)]
        numbers = int(ours["number"], 16) - _FIRST_BLOCK
        if abs(times[0] - times[1]) > _SECONDS + self._differences.seconds_per_block * numbers:
            return f"timestamp {times[0]}, {self._peers[1].name} {times[1]}"
        self._state.pending = ours["receipts"].count(None)
        return "; ".join(map(str, json_differences(theirs, ours)))

    def _observed(self, side: int) -> dict[str, Any]:
        rpc = self._peers[side].rpc
        sent = [self._results[each][side] for each in self._sent]
        calls: list[tuple[str, Any, Any]] = [("eth_getBlockByNumber", "latest", False)]
        calls += [
            (method, address, "latest")
            for address in WATCHED
            for method in ("eth_getBalance", "eth_getTransactionCount", "eth_getCode")
        ]
        block, *values = rpc.batch(*calls, *(("eth_getStorageAt", RECORDER, slot, "latest") for slot in SLOTS))
        receipts = rpc.batch(*(("eth_getTransactionReceipt", each) for each in sent)) if sent else []
        self._state.nonces = {address: int(value, 16) for address, value in zip(WATCHED, values[1::3], strict=False)}
        return {
            "timestamp": int(block["timestamp"], 16),
            **{name: block[name] for name in ("number", "baseFeePerGas", "gasLimit", "gasUsed", "miner")},
            "transactions": len(block["transactions"]),
            "values": values,
            "receipts": [each and {name: each[name] for name in _RECEIPT} for each in receipts],
        }
