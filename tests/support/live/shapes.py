"""Shapes of JSON values, and the execution API's shapes of responses.

Written after the OpenRPC sources of ethereum/execution-apis at 033ca6e (7 August 2026).
"""

import re
from typing import Any, NamedTuple


class Maybe(NamedTuple):
    """A key that may be missing."""

    shape: Any


# A shape is a pattern of a string, a type, a tuple of alternatives, [items], {name: shape}, {pattern: shape} or None.
QUANTITY = re.compile("0x(0|[1-9a-f][0-9a-f]*)")
DATA = re.compile("0x([0-9a-f]{2})*")
HASH = re.compile("0x[0-9a-f]{64}")
ADDRESS = re.compile("0x[0-9a-f]{40}")
ANY_ADDRESS = re.compile("0x[0-9a-fA-F]{40}")
BLOOM = re.compile("0x[0-9a-f]{512}")
BLOCK_NONCE = re.compile("0x[0-9a-f]{16}")
FORK_HASH = re.compile("0x[0-9a-f]{8}")
DECIMAL = re.compile("0|[1-9][0-9]*")

SLOT_PROOF = {"key": re.compile("0x[0-9a-f]{0,64}"), "value": QUANTITY, "proof": [DATA]}
PROOF = {
    "address": ADDRESS,
    "accountProof": [DATA],
    "balance": QUANTITY,
    "codeHash": HASH,
    "nonce": QUANTITY,
    "storageHash": HASH,
    "storageProof": [SLOT_PROOF],
}
HISTORY = {
    "oldestBlock": QUANTITY,
    "baseFeePerGas": [QUANTITY],
    "baseFeePerBlobGas": [QUANTITY],
    "gasUsedRatio": [(int, float)],
    "blobGasUsedRatio": [(int, float)],
}
LOG = {
    "address": ADDRESS,
    "topics": [HASH],
    "data": DATA,
    "blockNumber": QUANTITY,
    "blockTimestamp": QUANTITY,
    "transactionHash": HASH,
    "transactionIndex": QUANTITY,
    "blockHash": HASH,
    "logIndex": QUANTITY,
    "removed": bool,
}
RECEIPT = {
    "type": QUANTITY,
    "transactionHash": HASH,
    "transactionIndex": QUANTITY,
    "blockHash": HASH,
    "blockNumber": QUANTITY,
    "from": ADDRESS,
    "to": (ADDRESS, None),
    "cumulativeGasUsed": QUANTITY,
    "gasUsed": QUANTITY,
    "contractAddress": (ADDRESS, None),
    "logs": [LOG],
    "logsBloom": BLOOM,
    "effectiveGasPrice": QUANTITY,
    # A state root before Byzantium, a status after it.
    "root": Maybe(HASH),
    "status": Maybe(re.compile("0x[01]")),
    "blobGasUsed": Maybe(QUANTITY),
    "blobGasPrice": Maybe(QUANTITY),
}
WITHDRAWAL = {"index": QUANTITY, "validatorIndex": QUANTITY, "address": ADDRESS, "amount": QUANTITY}
BLOCK = {
    "number": QUANTITY,
    "hash": HASH,
    "parentHash": HASH,
    "sha3Uncles": HASH,
    "miner": ADDRESS,
    "stateRoot": HASH,
    "transactionsRoot": HASH,
    "receiptsRoot": HASH,
    "logsBloom": BLOOM,
    "difficulty": QUANTITY,
    "gasLimit": QUANTITY,
    "gasUsed": QUANTITY,
    "timestamp": QUANTITY,
    "extraData": DATA,
    "mixHash": HASH,
    "nonce": BLOCK_NONCE,
    "size": QUANTITY,
    "uncles": [HASH],
    # Present from London, Shanghai, Cancun and Prague on.
    "baseFeePerGas": Maybe(QUANTITY),
    "withdrawals": Maybe([WITHDRAWAL]),
    "withdrawalsRoot": Maybe(HASH),
    "blobGasUsed": Maybe(QUANTITY),
    "excessBlobGas": Maybe(QUANTITY),
    "parentBeaconBlockRoot": Maybe(HASH),
    "requestsHash": Maybe(HASH),
}
ACCESS_LIST = [{"address": ADDRESS, "storageKeys": [HASH]}]
AUTHORIZATION = {
    "chainId": QUANTITY,
    "address": ADDRESS,
    "nonce": QUANTITY,
    "yParity": re.compile("0x[01]"),
    "r": QUANTITY,
    "s": QUANTITY,
}
_SIGNED = {
    "blockHash": (HASH, None),
    "blockNumber": (QUANTITY, None),
    "blockTimestamp": (QUANTITY, None),
    "transactionIndex": (QUANTITY, None),
    "hash": HASH,
    "from": ADDRESS,
    "nonce": QUANTITY,
    "gas": QUANTITY,
    "gasPrice": QUANTITY,
    "to": (ADDRESS, None),
    "value": QUANTITY,
    "input": DATA,
    "v": QUANTITY,
    "r": QUANTITY,
    "s": QUANTITY,
}
_TYPED = _SIGNED | {"chainId": QUANTITY, "yParity": re.compile("0x[01]"), "accessList": ACCESS_LIST}
_PRICED = _TYPED | {"maxFeePerGas": QUANTITY, "maxPriorityFeePerGas": QUANTITY}
TRANSACTION = (
    # A transaction from before EIP-155 has no chain ID.
    _SIGNED | {"type": re.compile("0x0"), "chainId": Maybe(QUANTITY)},
    _TYPED | {"type": re.compile("0x1")},
    _PRICED | {"type": re.compile("0x2")},
    _PRICED | {"type": re.compile("0x3"), "maxFeePerBlobGas": QUANTITY, "blobVersionedHashes": [HASH], "to": ADDRESS},
    _PRICED | {"type": re.compile("0x4"), "authorizationList": [AUTHORIZATION], "to": ADDRESS},
)
WITH_HASHES = BLOCK | {"transactions": [HASH]}
WITH_TRANSACTIONS = BLOCK | {"transactions": [TRANSACTION]}
POOL = {ANY_ADDRESS: {DECIMAL: TRANSACTION}}
STEP = {
    "pc": int,
    "op": str,
    "gas": int,
    "gasCost": int,
    "depth": int,
    "stack": Maybe([QUANTITY]),
    "memory": Maybe([HASH]),
    "storage": Maybe({HASH: HASH}),
    "returnData": Maybe(DATA),
    "refund": Maybe(int),
    "error": Maybe(str),
}
TRACE = {"gas": int, "failed": bool, "returnValue": DATA, "structLogs": [STEP]}
SIMULATED_CALL = {
    "returnData": DATA,
    "logs": [LOG],
    "gasUsed": QUANTITY,
    "maxUsedGas": QUANTITY,
    "status": re.compile("0x[01]"),
    "error": Maybe({"code": int, "message": str, "data": Maybe(DATA)}),
}


def fits(value: Any, shape: Any) -> bool:
    """Return True if JSON has the shape and no additional key."""
    match shape:
        case None:
            return value is None
        case re.Pattern():
            return isinstance(value, str) and bool(shape.fullmatch(value))
        case tuple() if not isinstance(shape, Maybe):
            return any(fits(value, one) for one in shape)
        case []:
            return bool(value == [])
        case [item]:
            return isinstance(value, list) and all(fits(one, item) for one in value)
        case dict() if any(isinstance(key, re.Pattern) for key in shape):
            ((pattern, one),) = shape.items()
            return isinstance(value, dict) and all(fits(k, pattern) and fits(v, one) for k, v in value.items())
        case dict():
            needed = {key for key, one in shape.items() if not isinstance(one, Maybe)}
            if not isinstance(value, dict) or not needed <= value.keys() <= shape.keys():
                return False
            return all(
                fits(one, shape[key].shape if isinstance(shape[key], Maybe) else shape[key])
                for key, one in value.items()
            )
    return type(value) is shape
