"""anvil's traces of calls to fifty contracts match those of Foreseal."""

import copy
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from differential.anvil import Anvil, anvil
from differential.chain import genesis_of
from differential.traced_contracts import KINDS, alloc, contracts
from differential.traces import (
    CALLS,
    CHANGES,
    ONLY_TOP,
    PRESTATE,
    WITH_LOGS,
    Frame,
    frames,
    without_accounts_that_are_not_there,
    without_code_hashes,
    without_gas_of_the_transaction,
    without_gas_used,
    without_logs_of_a_failed_top_call,
    without_numbers_of_logs,
    without_self_destruct_of_the_top_call,
    without_words_of_failures,
)
from differential.workload import World
from foreseal.testing import Chain, ChainSettings
from live import DEV_ACCOUNTS
from live.sending import signed

SEED = 1
GAS = 2_900_000
BLOCK = 4
"""Transactions per block: their gas limits fit in one block."""
FRAME_TYPES = {"CALL", "CALLCODE", "DELEGATECALL", "STATICCALL", "CREATE", "CREATE2", "SELFDESTRUCT"}


class Both:
    """A chain and an anvil with the same contracts."""

    def __init__(self, chain: Chain, peer: Anvil) -> None:
        self.chain = chain
        self.peer = peer
        self.sent: list[tuple[str, int, bytes]] = []
        """Hash, gas limit and calldata of each transaction, in the order of the chain."""
        self._send()

    def request(self, method: str, *params: Any) -> tuple[Any, Any]:
        """Return the results of Foreseal and anvil, in this order, as mutable copies."""
        return copy.deepcopy(self.chain.rpc(method, *params)), self.peer.rpc(method, *params)

    def _send(self) -> None:
        random, left = Random(f"calls {SEED}"), list(contracts(SEED))
        while left:
            batch, left = left[:BLOCK], left[BLOCK:]
            raws = {}
            for to in batch:
                gas = random.choice([GAS, GAS, GAS, GAS, 100_000])
                value, data = random.choice([0, 1000]), random.randbytes(random.choice([0, 4, 36]))
                raw = signed(DEV_ACCOUNTS[0], len(self.sent), to=bytes.fromhex(to[2:]), gas=gas, value=value, data=data)
                tx_hash = self.chain.rpc("eth_sendRawTransaction", raw)
                raws[tx_hash] = raw
                self.sent.append((tx_hash, gas, data))
            self.chain.step()
            self.chain.mine()
            block = self.chain.rpc("eth_getBlockByNumber", "latest", False)
            assert block["transactions"] == list(raws)
            self.peer.repeat(block, list(raws.values()))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    genesis = genesis_of(World(SEED))
    genesis["alloc"] |= alloc(SEED)
    file: Path = tmp_path_factory.mktemp("traces") / "genesis.json"
    file.write_text(json.dumps(genesis))
    with anvil(genesis) as peer, Chain(ChainSettings(automine=False, genesis=file)) as chain:
        yield Both(chain, peer)


def test_traced_contracts_are_distinct_and_cover_every_operation(both: Both) -> None:
    codes = contracts(SEED)
    assert len(codes) == len(set(codes.values())) == 50
    assert len(KINDS) >= 18
    seen, failures, statuses = Counter[str](), Counter[str](), Counter[str]()
    deepest = 0
    for tx_hash, _, _ in both.sent:
        call = both.chain.rpc("debug_traceTransaction", tx_hash, WITH_LOGS)
        statuses[both.chain.rpc("eth_getTransactionReceipt", tx_hash)["status"]] += 1
        deepest = max(deepest, _depth(call))
        for frame in frames(call):
            seen[frame["type"]] += 1
            if "error" in frame:
                failures[re.split(":| [(]", frame["error"])[0]] += 1
            seen["reason"] += "revertReason" in frame
            seen["logs"] += len(frame.get("logs", ()))
            seen["value"] += frame.get("value", "0x0") != "0x0"
            seen["precompile"] += int(frame.get("to", "0xfff"), 16) <= 0x100
    assert seen.keys() >= FRAME_TYPES
    assert min(seen[name] for name in ("reason", "logs", "value", "precompile")) >= 5
    assert len(failures) >= 10, failures
    assert min(statuses.values()) >= 10
    assert deepest >= 10


def _depth(call: Frame) -> int:
    return 1 + max(map(_depth, call.get("calls", ())), default=0)


def test_calls_of_transactions(both: Both) -> None:
    for tx_hash, gas, data in both.sent:
        receipts = both.request("eth_getTransactionReceipt", tx_hash)
        assert receipts[0]["gasUsed"] == receipts[1]["gasUsed"]
        first = _first_log(both, receipts[0])
        for config in (CALLS, WITH_LOGS, ONLY_TOP):
            ours, theirs = both.request("debug_traceTransaction", tx_hash, config)
            without_gas_used(ours, theirs, receipts[0])
            _compare(ours, theirs, gas, data, config, first)


def test_traces_of_unsent_calls(both: Both) -> None:
    data = bytes.fromhex("01020304aa")
    for number, to in enumerate(contracts(SEED)):
        gas = (GAS, GAS, 60_000)[number % 3]
        call = {"from": DEV_ACCOUNTS[1].address, "to": to, "value": "0x5", "gas": hex(gas), "input": "0x" + data.hex()}
        for config in (CALLS, WITH_LOGS, ONLY_TOP):
            ours, theirs = both.request("debug_traceCall", call, "latest", config)
            _compare(ours, theirs, gas, data, config, 0)


def _compare(ours: Frame, theirs: Frame, gas: int, data: bytes, config: dict[str, Any], first_log: int) -> None:
    without_gas_of_the_transaction(ours, theirs, gas, data)
    without_words_of_failures(ours, theirs)
    if config is ONLY_TOP:
        without_self_destruct_of_the_top_call(theirs)
    if config is WITH_LOGS:
        without_logs_of_a_failed_top_call(ours, theirs)
        without_numbers_of_logs(ours, theirs, first_log)
    assert ours == theirs


def _first_log(both: Both, receipt: dict[str, Any]) -> int:
    """Return the number of logs in the block before this transaction."""
    block: list[dict[str, Any]] = both.chain.rpc("eth_getBlockReceipts", receipt["blockNumber"])
    index = int(receipt["transactionIndex"], 16)
    return sum(len(earlier["logs"]) for earlier in block[:index])


def test_prestates_of_transactions(both: Both) -> None:
    for tx_hash, _, _ in both.sent:
        _compare_prestates(*both.request("debug_traceTransaction", tx_hash, PRESTATE))
        _compare_changes(*both.request("debug_traceTransaction", tx_hash, CHANGES))


def test_prestates_of_unsent_calls(both: Both) -> None:
    for to in contracts(SEED):
        call = {"from": DEV_ACCOUNTS[1].address, "to": to, "value": "0x5", "gas": hex(GAS)}
        _compare_prestates(*both.request("debug_traceCall", call, "latest", PRESTATE))
        _compare_changes(*both.request("debug_traceCall", call, "latest", CHANGES))


def _compare_prestates(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    without_code_hashes(ours)
    without_accounts_that_are_not_there(ours, theirs)
    assert ours == theirs


def _compare_changes(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    without_code_hashes(ours["pre"])
    without_code_hashes(ours["post"])
    without_accounts_that_are_not_there(ours["pre"], theirs["pre"])
    assert ours == theirs
