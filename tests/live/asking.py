"""Every method that takes a block, by what `rpc.discover` says of it."""

import json
from typing import Any

from live.rpc import Rpc

TAG = "TAG"
# What an argument beside the block is, by the name of its schema.
_VALUES: dict[str, Any] = {
    "Address": "CONTRACT",
    "Boolean": True,
    "Call": {"to": "CONTRACT"},
    "Quantity": "0x0",
    "Slot": "0x0",
    "Slots": ["0x0", "0x1"],
    "StorageRequests": {"CONTRACT": ["0x0"]},
    "Percentiles": [10, 90],
    "Simulation": {"blockStateCalls": [{"calls": [{"to": "CONTRACT"}]}]},
    "StateOverrides": {"CONTRACT": {"balance": "0x1"}},
    "BlockOverrides": {"feeRecipient": "CONTRACT"},
    "TraceConfig": {"tracer": "callTracer"},
    "TraceCallConfig": {"tracer": "callTracer"},
    "Block": TAG,
    "Filter": {"fromBlock": TAG, "toBlock": TAG},
}
# A filter is made anew each time; foreseal_getLogs has it inside another object.
_APART = {"eth_newFilter"}

Question = tuple[str, list[Any]]
"""A method and its parameters, in which the block is still to be named."""


def questions(rpc: Rpc, contract: str) -> list[Question]:
    """Every method that can name a block by a tag, with parameters."""
    asked = []
    for method in rpc("rpc.discover")["methods"]:
        kinds = [param["schema"]["$ref"].rpartition("/")[2] for param in method["params"]]
        if method["name"] not in _APART and {"Block", "Filter"} & set(kinds):
            params = json.dumps([_VALUES[kind] for kind in kinds]).replace("CONTRACT", contract)
            asked.append((method["name"], json.loads(params)))
    return asked


def answers(rpc: Rpc, asked: list[Question], block: Any) -> list[Any]:
    """Results or errors, all from one view."""
    requests = [
        {"jsonrpc": "2.0", "id": ident, "method": method, "params": named(params, block)}
        for ident, (method, params) in enumerate(asked)
    ]
    found = rpc.post(json.dumps(requests).encode()).json()
    return [answer.get("result", answer.get("error")) for answer in found]


def named(params: list[Any], block: Any) -> list[Any]:
    """The parameters with the block, a tag, number, hash or an object, in its place."""
    return list(json.loads(json.dumps(params).replace(json.dumps(TAG), json.dumps(block))))
