"""Answers about the newest data of an attack, which all processes of a deployment must have in common."""

import hashlib
import http.client
from collections.abc import Mapping

import orjson

from hostile.deployment.proofs import verify_account
from hostile.deployment.results import Answer, Subject
from hostile.facts import HOSTILE_ACCOUNTS
from hostile.signing import accounts
from hostile.wire import call
from live.rpc import Rpc

_SLOTS = 16
_PAGE = "0x64"
_TOO_LARGE = -32005
_SENDERS = {account.address for account in accounts("hostile", HOSTILE_ACCOUNTS)}


Answers = Mapping[str, Answer]
"""Answers by method."""


def find_subject(rpc: Rpc, first: int) -> Subject | None:
    """Return the newest transaction of the attack in the sealed blocks from `first`; None if these are empty."""
    newest = None
    for number in range(int(rpc("eth_blockNumber"), 16), first - 1, -1):
        block = rpc("eth_getBlockByNumber", hex(number), True)
        for transaction in reversed(block["transactions"]):
            is_hostile = transaction["from"] in _SENDERS
            target = transaction["to"] or transaction["from"]
            subject = Subject(transaction["hash"], block["number"], block["hash"], target, is_hostile)
            if is_hostile:
                return subject
            newest = newest or subject
    return newest


def reads(subject: Subject) -> dict[str, bytes]:
    """Return the calls about a subject by method."""
    slots = [hex(slot) for slot in range(_SLOTS)]
    page = {"filter": {"blockHash": subject.block_hash}, "limit": _PAGE}
    calls = (
        call("eth_getTransactionReceipt", subject.transaction),
        call("eth_getTransactionByHash", subject.transaction),
        call("foreseal_preconfirmation", subject.transaction),
        call("eth_getBlockByNumber", subject.block, True),
        call("eth_getBlockReceipts", subject.block),
        call("foreseal_getLogs", page),
        call("eth_getProof", subject.contract, slots, subject.block),
    )
    return {orjson.loads(body)["method"]: body for body in calls}


def read_answers(rpc: Rpc, subject: Subject) -> dict[str, Answer]:
    """Return digests of a process's answers; answers are equal to the byte, as their requests are.

    Raises ConnectionError, which names the method, if an answer is missing or incomplete.
    """
    answers = {}
    for method, body in reads(subject).items():
        try:
            answer = rpc.post(body).body
        except (OSError, http.client.HTTPException) as incomplete:
            raise ConnectionError(f"{method}: {incomplete!r}"[:200]) from incomplete
        # A large answer is a result; only a short one may be an error.
        error = orjson.loads(answer).get("error") if len(answer) < 1 << 12 else None
        code = error["code"] if error else None
        answers[method] = Answer(hashlib.sha256(answer).hexdigest()[:16], len(answer), code)
    return answers


def differences(name: str, expected: Answers, actual: Answers) -> list[str]:
    """Return the methods whose answers differ, with their sizes."""
    return [
        f"{name} answers {method} differently: {_show(actual[method])}, not {_show(answer)}"
        for method, answer in expected.items()
        if actual[method] != answer
    ]


def faults(name: str, answers: Answers) -> list[str]:
    """Return the errors among answers, except that of an answer above the limit."""
    return [
        f"{name} answers {method} with error {answer.code}"
        for method, answer in answers.items()
        if answer.code not in (None, _TOO_LARGE)
    ]


def verify_proof(rpc: Rpc, subject: Subject) -> str:
    """Return what is wrong with the proof of a subject's contract; empty if it is valid."""
    root = rpc("eth_getBlockByNumber", subject.block, False)["stateRoot"]
    reply = orjson.loads(rpc.post(reads(subject)["eth_getProof"]).body)
    if "error" in reply:
        return f"eth_getProof: {reply['error']['message']}"
    return verify_account(reply["result"], root)


def _show(answer: Answer) -> str:
    return f"{answer.bytes} bytes" + (f" with error {answer.code}" if answer.code else f" ({answer.digest})")
