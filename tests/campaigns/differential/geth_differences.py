"""The complete list of geth 1.17.10's intended differences in calls and traces, with reasons. Any other is a fault.

Each function whose name begins with `without` removes one of them from a pair of results.
"""

import re
from typing import Any

from differential.failures import REVERT, kind_of

ERRORS = {
    "words": "compared by kind: geth adds addresses, figures and the step that failed",
    "order of checks": "of a request that breaks two rules, geth reports the funds before the intrinsic gas, and a fee "
    "below the tip before both; Foreseal reports what needs no state first",
    "code of a revert, estimate": "geth: 3 as for a call; spec.md says -32000 `execution reverted`, its reason in data",
    "calldata floor": "below the floor of EIP-7623, geth has a message of its own; here it is intrinsic gas",
    "out of gas": "geth continues some of them with an inner cause: `gas uint64 overflow`, the reentrancy sentry",
    "gas of a call": "a call without a gas limit that uses all that the server allows is -32005 here",
    "precompiled contracts": "geth has the words of the library that rejects the input; the call tracer here says "
    "`precompiled failed`. geth checks the gas first, here an input of a wrong length is an error with any gas",
}
"""Errors are compared by kind, and by the data of a revert."""

ESTIMATES = {
    "value": "both stop searching within 1.5 % of the lowest gas, each elsewhere",
    "failing calls": "geth accepts any gas from what was used on with which the request succeeds, also if calls inside "
    "fail that did not with the highest gas; its traces decide",
    "limit": "here, the block's gas limit bounds an estimate whose request names more gas; geth's does not",
}
TOLERANCE = 0.016
"""Share by which two estimates may differ: geth's 1.5 % are of the higher limit."""

SIMULATIONS = {
    "blobs without a fee": "free here, as in `eth_call`; geth charges their price without a check of the balance",
    "legacy transactions": "geth writes an unsigned one with v = 0 and a chain id that follows from it; here v has the "
    "chain id (EIP-155). A call with a gas price and lists stays legacy in geth, which drops the lists from the block",
}

TRACES = {
    "accounts without code": "after the transaction, geth writes an all-zero codeHash for accounts that do not exist",
    "authorities": "of a call with gasPrice, geth does not record the accounts that its authorizations name",
    "static calls": "where a write in a static call also lacks gas, geth reports either, here it is the write",
    "failed instructions": "geth names instructions of other rules (EXTCALL), here they are `opcode 0x.. not defined`. "
    "geth's gasCost is what it would have cost, and refund what it would have added; here "
    "gasCost is at most what was left. geth has no error if the instruction is undefined, or has a static cost and "
    "writes in a static call",
}


REJECTED, OUT_OF_GAS, PRECOMPILE, TIME = "rejected", "out of gas", "precompile", "time"
# Rejections are one kind: the order of the checks differs.
KINDS = (
    (REVERT, re.compile(r"execution reverted")),
    (
        REJECTED,
        re.compile(
            r"insufficient funds|less than block base fee|intrinsic gas too low|floor data gas cost|nonce too"
            r"|priority fee per gas higher|gas required exceeds allowance|fee per blob gas|missing blob"
        ),
    ),
    ("static", re.compile(r"write protection")),
    ("code", re.compile(r"max initcode size|invalid code|address collision")),
    ("block gas", re.compile(r"block gas limit reached")),
    (
        OUT_OF_GAS,
        re.compile(
            r"out of gas|gas uint64 overflow|needs more than the limit of \d+ gas|Modexp limit"
            # A creation whose code is too large also lacks the gas for it: either may come first.
            r"|max code size|creation code storage"
        ),
    ),
    (TIME, re.compile(r"timeout|timed out|more than the limit of \d+ (milliseconds|bytes)")),
    ("opcode", re.compile(r"invalid opcode")),
    ("stack", re.compile(r"stack (underflow|limit reached)")),
    ("jump", re.compile(r"invalid jump")),
    ("return data", re.compile(r"return data out of bounds")),
    (
        PRECOMPILE,
        re.compile(
            r"precompile|input length|elliptic curve|not on curve|fp\.Element|kzg|subgroup|top bytes|versioned hash"
        ),
    ),
)


def without_words(value: Any) -> Any:
    """Return a result with each error text replaced by its kind."""
    if isinstance(value, list):
        return [without_words(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: _kind(item) if name == "error" else without_words(item) for name, item in value.items()}


def _kind(error: Any) -> Any:
    if isinstance(error, dict):
        return {**error, "message": kind_of(KINDS, error["message"])}
    return kind_of(KINDS, error)


def without_other_reasons(ours: Any, theirs: Any) -> None:
    """Replace geth's error by ours where the reasons differ.

    Of a precompiled contract geth names the reason, or is out of gas; a write in a static call may lack gas too.
    """
    if isinstance(ours, list) and isinstance(theirs, list):
        for one, other in zip(ours, theirs, strict=False):
            without_other_reasons(one, other)
    elif isinstance(ours, dict) and isinstance(theirs, dict):
        is_precompiled = ours.get("error") == "precompiled failed" and "error" in theirs
        if is_precompiled or (ours.get("error") == "write protection" and theirs.get("error") == "out of gas"):
            theirs["error"] = ours["error"]
        for name in ours.keys() & theirs.keys():
            without_other_reasons(ours[name], theirs[name])


def without_hashes_of_legacy_transactions(blocks: Any) -> Any:
    """Return simulated blocks without transactions, and without what follows from their bytes."""
    following = {"hash", "parentHash", "size", "stateRoot", "transactionsRoot", "receiptsRoot", "blobGasUsed"}
    following |= {"transactions", "blockHash", "transactionHash"}
    if isinstance(blocks, list):
        return [without_hashes_of_legacy_transactions(item) for item in blocks]
    if not isinstance(blocks, dict):
        return blocks
    return {name: without_hashes_of_legacy_transactions(item) for name, item in blocks.items() if name not in following}


def without_absent_accounts(trace: dict[str, Any]) -> None:
    """Remove accounts of which geth knows nothing but an all-zero hash of code."""
    after = trace.get("post", {})
    for address in [address for address, account in after.items() if account == {"codeHash": "0x" + "00" * 32}]:
        del after[address]


def without_authorities(ours: dict[str, Any], theirs: dict[str, Any], authorities: set[str]) -> None:
    """Remove accounts that only the authorizations of a call with gasPrice name: geth has recorded them nowhere."""
    recorded = theirs.get("pre", theirs).keys() | theirs.get("post", {}).keys()
    for address in authorities - recorded:
        ours.get("pre", ours).pop(address, None)
        ours.get("post", {}).pop(address, None)


def without_failed_instructions(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Remove cost, refund and error of instructions that failed."""
    for one, other in zip(ours["structLogs"], theirs["structLogs"], strict=False):
        if "error" in one or "error" in other:
            for step in (one, other):
                for name in ("gasCost", "refund", "error"):
                    step.pop(name, None)
            if "not defined" in one["op"]:
                other["op"] = one["op"]
