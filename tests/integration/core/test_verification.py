"""Submissions whose checks take long: they wait for a thread of their own, after all other checks."""

from collections.abc import Callable, Sequence
from typing import Any

import orjson
from eth_account.signers.local import LocalAccount

from foreseal._core import Buckets, Caller, Node
from foreseal.errors import RpcError
from live import DEV_ACCOUNTS
from live.sending import signed
from live_node import outcomes

AUTHORIZATIONS = 600
"""Authorizations of a list; their signatures take tens of milliseconds to recover."""
_GAS = 21_000 + 25_000 * (AUTHORIZATIONS + 10)
MakeNode = Callable[..., Node]


def junk_list(account: LocalAccount, nonce: int) -> str:
    """Return a set-code transaction with authorizations whose signatures are random numbers."""
    junk = [
        {"chainId": 0, "address": "0x" + "07" * 20, "nonce": 0, "yParity": 0, "r": 7 + number, "s": 1}
        for number in range(AUTHORIZATIONS)
    ]
    return signed(account, nonce, type=4, gas=_GAS, authorizationList=junk)


def submit(node: Node, ticket: int, raws: Sequence[str], caller: Caller) -> None:
    assert node.call("eth_sendRawTransaction", orjson.dumps(list(raws)), ticket, caller) is None


def verifications(node: Node) -> Any:
    """Return the number of jobs that had the thread for verification."""
    return orjson.loads(node.metrics())["lanes"]["verification"]["queue"]["counts"][-1]


def caller(name: str, rate: int = 0, burst: int = 1) -> Caller:
    return Caller(name.encode(), False, Buckets(None, 64), rate, burst)


def test_other_submissions_do_not_wait_for_verification(make_node: MakeNode) -> None:
    node = make_node(threads=1)
    lists, transfer = [junk_list(DEV_ACCOUNTS[0], nonce) for nonce in range(12)], signed(DEV_ACCOUNTS[1], 0)
    for ticket, raw in enumerate(lists):
        submit(node, ticket, [raw], caller(f"list {ticket}"))
    submit(node, 100, [transfer], caller("honest"))
    ended: list[int] = []
    while len(ended) < 13:
        ended += outcomes(node, 1)
    assert ended.index(100) < 6, "it waited for none of those that were verified later"
    assert verifications(node) == 12


def test_a_submission_without_funds_is_not_verified(make_node: MakeNode) -> None:
    node = make_node()
    poor = DEV_ACCOUNTS[5]  # not among the three of this chain
    submit(node, 1, [junk_list(poor, 0)], caller("poor"))
    [refused] = outcomes(node, 1).values()
    assert isinstance(refused, RpcError)
    assert refused.message == "insufficient funds for gas * price + value"
    assert verifications(node) == 0


def test_verification_is_charged_before_it_begins(make_node: MakeNode) -> None:
    node = make_node()
    limited = caller("limited", rate=1, burst=20)
    submit(node, 1, [junk_list(DEV_ACCOUNTS[0], 0)], limited)
    [refused] = outcomes(node, 1).values()
    assert isinstance(refused, RpcError)
    assert refused.code == -32005
    assert refused.data is not None
    assert orjson.loads(refused.data)["limit"] == "cpu"
    assert orjson.loads(node.metrics())["lanes"]["verification"]["cpu"] < 0.02, "nothing was recovered"
