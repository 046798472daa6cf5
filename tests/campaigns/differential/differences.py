"""The complete list of anvil 1.7.1's intended differences, with reasons. Any other difference is a fault.

If the reason names the specification, EELS agrees with Foreseal (test_specification.py).
"""

import re
from typing import Any

from differential.failures import REVERT
from differential.workload import Feature

LEFT_OUT = {
    Feature.CHAIN_HASHES: "anvil draws a mixHash of its own and has other state roots, so its blocks have other hashes",
    Feature.GAS: "with it, what a request does depends on the gas it is given: there is no least gas to agree on",
    Feature.SYSTEM_CALLS: "anvil makes none of the calls that the specification makes at the begin and end of a block",
    Feature.NEW_AUTHORITIES: "anvil refunds an authorization as that of an existing account (12,500 gas) once anybody "
    "has looked at the account, against EIP-7702 and the specification",
    Feature.NONCE_GAPS: "anvil's pool knows the nonces of the last block alone, and leaves out what comes after a gap",
}
"""Features that the transactions of the comparison do not use."""

BLOCK = {
    "hash": "it covers the mixHash and the state root",
    "parentHash": "as hash",
    "mixHash": "anvil draws its own",
    "stateRoot": "anvil keeps slots that were cleared in its storage tries and makes no system calls; all accounts and "
    "slots are compared instead",
    "size": "anvil leaves out the empty list of withdrawals, and counts the blobs themselves",
    "totalDifficulty": "anvil alone has it; the execution API dropped it",
}
"""Fields of a block that are not compared."""

BLOCK_WITH_BLOBS = {
    "transactionsRoot": "anvil puts the blobs themselves into the list of transactions, against EIP-4844",
}
"""The same, if the block has a blob transaction."""

RECEIPT = {
    "blockHash": "as a block's hash",
    "blockTimestamp": "anvil alone has it, as a number; the execution API has none",
}
"""Fields of a receipt that are not compared."""

RECEIPT_WITHOUT_BLOBS = {
    "blobGasPrice": "anvil alone has it where there are no blobs; the execution API has it with blobs"
}

LOG = {"blockHash": "as a block's hash"}
"""Fields of a log that are not compared."""

ERRORS = {
    "code of a halt": "anvil: -32603, the code of internal errors; here -32000, as geth",
    "message of a halt": "anvil names revm's reason, here it is geth's where geth has one",
    "message of a revert": "anvil decodes more than Error(string), here the rest is `execution reverted`, as in geth",
    "code and message of a revert, estimate": "anvil answers 3 as for a call, spec.md says -32000 `execution reverted`",
    "message of too little gas": "anvil: revm's words, here geth's",
}
"""The compared parts of errors: the kind of failure, and the data of a revert."""

CALLS = {
    "BASEFEE": "without a fee in the request it is 0 here, as in geth, and the block's in anvil: every request has one",
}
"""Features that calls and estimates do not use."""

ESTIMATES = {
    "value": "both stop searching within 1.5 % of the least gas that suffices, anvil elsewhere than Foreseal",
    "lower gas": "anvil accepts any gas with which the request succeeds, also if calls inside fail; its traces decide",
    "transfers that fail": "anvil answers 21,000 untried: also to precompiled contracts, and from whoever cannot pay",
}
"""Differences of estimates."""
TOLERANCE = 0.015
"""Share by which two estimates of one request may differ."""


# The first match of either node counts.
KINDS = (
    (REVERT, re.compile(r"execution reverted")),
    ("intrinsic gas", re.compile(r"intrinsic gas too")),
    ("out of gas", re.compile(r"out of gas|EVM error \w*(OutOfGas|OOG)|gas required exceeds")),
    ("halt", re.compile(r"execution halted|EVM error")),
    ("funds", re.compile(r"insufficient funds|Insufficient funds")),
)


def without(fields: dict[str, Any], *left_out: dict[str, str]) -> dict[str, Any]:
    """Return the fields that are compared."""
    return {name: value for name, value in fields.items() if not any(name in names for names in left_out)}
