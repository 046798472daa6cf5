"""Every method with a block parameter, according to `rpc.discover`."""

import json
from typing import Any

from live.rpc import Rpc

TAG = "TAG"
# Values of the other arguments, by the name of their schema.
_VALUES: dict[str, Any] = {
    "Address": "CONTRACT",
    "Boolean": True,
    "Call": {"to": "CONTRACT"},
    "Number": "0x0",
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
# Excluded: a filter is created anew each time. foreseal_getLogs has its filter inside another object.
_APART = {"eth_newFilter"}

TagQuery = tuple[str, list[Any]]
"""A method and its parameters, with a placeholder for the block."""


def tag_queries(rpc: Rpc, contract: str) -> list[TagQuery]:
    """Return every method that accepts a block tag, with parameters."""
    queries = []
    for method in rpc("rpc.discover")["methods"]:
        kinds = [param["schema"]["$ref"].rpartition("/")[2] for param in method["params"]]
        if method["name"] not in _APART and {"Block", "Filter"} & set(kinds):
            params = json.dumps([_VALUES[kind] for kind in kinds]).replace("CONTRACT", contract)
            queries.append((method["name"], json.loads(params)))
    return queries


def answers(rpc: Rpc, queries: list[TagQuery], block: Any) -> list[Any]:
    """Return results or errors, all from one view."""
    requests = [
        {"jsonrpc": "2.0", "id": ident, "method": method, "params": named(params, block)}
        for ident, (method, params) in enumerate(queries)
    ]
    replies = rpc.post(json.dumps(requests).encode()).json()
    return [answer.get("result", answer.get("error")) for answer in replies]


def named(params: list[Any], block: Any) -> list[Any]:
    """Return the parameters with the block (a tag, number, hash or object) in place of the placeholder."""
    return list(json.loads(json.dumps(params).replace(json.dumps(TAG), json.dumps(block))))
