"""Reads of random holders: rate, latency, processor time, and a check of the answers."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from benches.big_state.state_genesis import HOLDER_TOKENS, HOLDER_WEI, TOKEN, holder
from benches.load.launched_node import LaunchedNode

from foreseal.bench import token
from foreseal.bench.node import body

CONNECTIONS = 16
WORKING_SET = 10_000
"""Holders of the reads that repeat."""
_TOKEN = "0x" + TOKEN.hex()
_CHECKED = 50

Call = tuple[str, list[Any]]


def _call_of(kind: str, owner: bytes) -> Call:
    address, slot = "0x" + owner.hex(), token.balance_slot(owner)
    calls: dict[str, Callable[[], Call]] = {
        "balance": lambda: ("eth_getBalance", [address, "latest"]),
        "storage": lambda: ("eth_getStorageAt", [_TOKEN, slot, "latest"]),
        "call": lambda: (
            "eth_call",
            [{"to": _TOKEN, "data": "0x" + token.encode_balance_query(owner).hex()}, "latest"],
        ),
        "proof": lambda: ("eth_getProof", [_TOKEN, [slot], "latest"]),
    }
    return calls[kind]()


KINDS = ("balance", "storage", "call", "proof")


def sample_holders(holders: int, count: int, seed: int) -> list[int]:
    """Return random holders, each once, as far as there are so many."""
    return random.Random(seed).sample(range(holders), min(count, holders))


def read_rates(node: LaunchedNode, chosen: Sequence[int], seconds: float) -> dict[str, Any]:
    """Return rate, latency and processor time of each kind of read over these holders, in their order."""
    rates = {}
    owners = [holder(index) for index in chosen]
    for kind in KINDS:
        bodies = [body(method, *params) for method, params in (_call_of(kind, owner) for owner in owners)]
        done = node.client.load(bodies, CONNECTIONS, seconds)
        rates[kind] = {
            "requests_per_second": round(done.rate),
            "answered": done.answered,
            "cpu_us": round(done.cpu_us or 0.0, 2),
            **done.latencies.quantiles(),
        }
    return rates


def check_answers(node: LaunchedNode, holders: int, seed: int) -> int:
    """Compare answers about random holders with the genesis, and return their number. Raises RuntimeError.

    Transfers add to the tokens of a holder and never take from them, and do not change ether.
    """
    chosen = sample_holders(holders - 1, _CHECKED, seed)
    for index in chosen:
        # Holder 0 gets the ether of single transfers.
        owner = holder(index + 1)
        wei, slot, called, proof = (int_of(node.client.call(*_flat(_call_of(kind, owner)))) for kind in KINDS)
        if wei != HOLDER_WEI or not HOLDER_TOKENS <= slot == called == proof:
            raise RuntimeError(f"holder {index + 1} has {wei} wei and {slot}, {called}, {proof} tokens")
    return len(chosen) * len(KINDS)


def _flat(call: Call) -> tuple[Any, ...]:
    return call[0], *call[1]


def int_of(answer: Any) -> int:
    """Return the number in an answer: a hex number, or the value of the slot of a proof."""
    return int(answer if isinstance(answer, str) else answer["storageProof"][0]["value"], 16)
