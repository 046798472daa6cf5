"""Traces of the same calls by Foreseal and by anvil, and the expected differences.

Foreseal's traces follow geth in structure and wording. Each function whose name begins with `without` removes one known
difference from a pair of results, after it has verified that it is exactly this difference; its docstring gives the
reason.
"""

import re
from collections.abc import Iterator
from typing import Any

from eth_hash.auto import keccak

Frame = dict[str, Any]

CALLS = {"tracer": "callTracer"}
WITH_LOGS = {"tracer": "callTracer", "tracerConfig": {"withLog": True}}
ONLY_TOP = {"tracer": "callTracer", "tracerConfig": {"onlyTopCall": True}}
PRESTATE = {"tracer": "prestateTracer"}
CHANGES = {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}}

WORDS = {
    "CreateCollision": r"contract address collision",
    "CreateContractSizeLimit": r"max code size exceeded: code size \d+ limit \d+",
    "CreateContractStartingWithEF": r"invalid code: must not begin with 0xef",
    "OutOfOffset": r"return data out of bounds",
    "Out of stack": r"stack limit reached 1024 \(1023\)",
    "StackUnderflow": r"stack underflow \(\d+ <=> \d+\)",
    "StateChangeDuringStaticCall": r"write protection",
    "CallNotAllowedInsideStatic": r"write protection",
    "invalid opcode": r"invalid opcode: (INVALID|opcode 0x[0-9a-f]+ not defined)",
    "out of gas: reach memory limit": r"out of gas",
    # Error of a creation whose last instruction, RETURN, succeeded.
    "out of gas": r"contract creation code storage out of gas",
}
"""anvil's error messages that geth words differently."""


def frames(call: Frame) -> Iterator[Frame]:
    """Yield a call and all calls below it, in order."""
    yield call
    for inner in call.get("calls", ()):
        yield from frames(inner)


def without_words_of_failures(ours: Frame, theirs: Frame) -> None:
    """anvil uses revm's names for some failures; Foreseal uses geth's wording."""
    for own, other in zip(frames(ours), frames(theirs), strict=False):
        if "error" in own and re.fullmatch(WORDS.get(other.get("error", ""), "(?!)"), own["error"]):
            other["error"] = own["error"]


def without_gas_of_the_transaction(ours: Frame, theirs: Frame, limit: int, data: bytes) -> None:
    """geth reports the gas limit as the gas of the top call; anvil subtracts the intrinsic gas (EIP-2028)."""
    intrinsic = 21_000 + sum(16 if byte else 4 for byte in data)
    assert int(ours["gas"], 16) == limit
    assert int(theirs.pop("gas"), 16) == limit - intrinsic
    del ours["gas"]


def without_gas_used(ours: Frame, theirs: Frame, receipt: dict[str, Any]) -> None:
    """geth reports the receipt's gas as the top call's gas used; anvil the cumulative gas of the block so far."""
    assert ours.pop("gasUsed") == receipt["gasUsed"]
    assert theirs.pop("gasUsed") == receipt["cumulativeGasUsed"]


def without_numbers_of_logs(ours: Frame, theirs: Frame, first: int) -> None:
    """geth numbers logs through the block without reverted ones; anvil through the transaction, including them.

    `first` is the index in the block of the transaction's first log.
    """
    logs = [log for frame in frames(ours) for log in frame.get("logs", ())]
    assert sorted(int(log.pop("index"), 16) for log in logs) == list(range(first, first + len(logs)))
    for frame in frames(theirs):
        for log in frame.get("logs", ()):
            del log["index"]


def without_logs_of_a_failed_top_call(ours: Frame, theirs: Frame) -> None:
    """A failed call's logs are reverted: geth shows none of them, anvil those of the top call itself."""
    if "error" in ours:
        assert "logs" not in ours
        theirs.pop("logs", None)


def without_self_destruct_of_the_top_call(theirs: Frame) -> None:
    """geth treats SELFDESTRUCT as a call, which `onlyTopCall` omits like any other; anvil shows it."""
    assert [inner["type"] for inner in theirs.pop("calls", [])] in ([], ["SELFDESTRUCT"])


def without_code_hashes(ours: dict[str, Any]) -> None:
    """geth adds the hash of the code (since version 1.16); anvil does not."""
    for account in ours.values():
        if "code" in account:
            assert account.pop("codeHash") == "0x" + keccak(bytes.fromhex(account["code"][2:])).hex()


def without_accounts_that_are_not_there(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """geth omits accounts that do not exist before (`includeEmpty`); anvil shows them with a balance of zero."""
    for address in theirs.keys() - ours.keys():
        if theirs[address] == {"balance": "0x0"}:
            del theirs[address]
