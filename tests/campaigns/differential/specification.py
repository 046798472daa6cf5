"""Random transactions through Foreseal, and its sealed blocks through the execution specification."""

from collections.abc import Callable
from typing import Any

import rlp

from differential.chain import filled, genesis_of
from differential.comparison import Comparison
from differential.eels import Specification
from differential.workload import World

_BLOB_GAS = 1 << 17
_BLOB_TYPE = 3
_BLOB_HASHES = 10
"""Index of the blob hashes in a blob transaction (EIP-4844)."""
_MOST_FAULTS = 20

# Field of the block, field of t8n's result.
_HEADER = {
    "stateRoot": "stateRoot",
    "transactionsRoot": "txRoot",
    "receiptsRoot": "receiptsRoot",
    "logsBloom": "logsBloom",
    "gasUsed": "gasUsed",
    "baseFeePerGas": "currentBaseFee",
    "excessBlobGas": "currentExcessBlobGas",
    "withdrawalsRoot": "withdrawalsRoot",
    "requestsHash": "requestsHash",
}


def compare_with_specification(seed: int, transactions: int) -> Comparison:
    """Fill blocks until this many transactions are sealed, and execute each block by the specification.

    It ends at the first difference, since all later blocks would differ.
    """
    world = World(seed)
    genesis = genesis_of(world)
    comparison = Comparison(seed)
    peer = Specification(genesis)
    with filled(genesis, world, seed) as subject:
        rpc = subject.chain.rpc
        parent = rpc("eth_getBlockByNumber", "earliest", False)
        while comparison.transactions < transactions and not comparison.faults:
            block, receipts = subject.next_block()
            raw = rpc("debug_getRawBlock", block["number"])
            result = peer.execute(block, parent, raw)
            comparison.faults += _differences(block, receipts, raw, result)
            if result["stateRoot"] != block["stateRoot"]:
                comparison.faults += _state_differences(peer.alloc, rpc)[:_MOST_FAULTS]
            comparison.count(block, receipts)
            parent = block
        comparison.kinds, comparison.refused = subject.kinds, subject.refused
        comparison.compared["accounts"] = len(peer.alloc)
        comparison.compared["slots"] = sum(len(account.get("storage", ())) for account in peer.alloc.values())
    return comparison


def _differences(block: dict[str, Any], receipts: list[dict[str, Any]], raw: str, result: dict[str, Any]) -> list[str]:
    where = f"block {int(block['number'], 16)}"
    faults = [f"{where}: the specification rejects {rejected}" for rejected in result["rejected"]]
    if "blockException" in result:
        faults.append(f"{where}: {result['blockException']}")
    header = [(name, block[name], result[other]) for name, other in _HEADER.items()]
    header.append(("blobGasUsed", block["blobGasUsed"], hex(_blob_gas(raw))))
    header.append(("size", block["size"], hex(len(bytes.fromhex(raw[2:])))))
    header.append(("number of receipts", len(receipts), len(result["receipts"])))
    faults += [f"{where}: {name} is {ours}, specified is {theirs}" for name, ours, theirs in header if ours != theirs]
    for ours, theirs in zip(map(_receipt, receipts), result["receipts"], strict=False):
        if ours != theirs:
            faults.append(f"{where}: receipt {ours}, specified is {theirs}")
    return faults


def _receipt(receipt: dict[str, Any]) -> dict[str, Any]:
    return {
        "transactionHash": receipt["transactionHash"],
        "succeeded": receipt["status"] == "0x1",
        "cumulativeGasUsed": receipt["cumulativeGasUsed"],
        "bloom": receipt["logsBloom"],
        "logs": [{name: log[name] for name in ("address", "topics", "data")} for log in receipt["logs"]],
    }


def _blob_gas(raw: str) -> int:
    """Return the blob gas of the transactions in a block's RLP."""
    typed = [item for item in rlp.decode(bytes.fromhex(raw[2:]))[1] if isinstance(item, bytes)]
    blobs = [rlp.decode(item[1:])[_BLOB_HASHES] for item in typed if item[0] == _BLOB_TYPE]
    return _BLOB_GAS * sum(map(len, blobs))


def _state_differences(alloc: dict[str, Any], rpc: Callable[..., Any]) -> list[str]:
    """Return the accounts and slots whose values differ between specification and node."""
    faults = []
    for address, account in alloc.items():
        asked = [
            ("balance", rpc("eth_getBalance", address, "latest"), account.get("balance", "0x0")),
            ("nonce", rpc("eth_getTransactionCount", address, "latest"), account.get("nonce", "0x0")),
            ("code", rpc("eth_getCode", address, "latest"), account.get("code", "0x")),
        ]
        for slot, value in account.get("storage", {}).items():
            ours = int(rpc("eth_getStorageAt", address, slot, "latest"), 16)
            asked.append((f"slot {slot}", ours, int(value, 16)))
        faults += [
            f"{address}: {name} is {ours}, specified is {theirs}" for name, ours, theirs in asked if ours != theirs
        ]
    return faults
