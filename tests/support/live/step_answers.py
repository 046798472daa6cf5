"""Results of many methods for a step, compared with those for the block once it is sealed."""

import random
from typing import Any, NamedTuple

from live.rpc import Rpc
from live.tag_queries import TagQuery, answers, tag_queries

# Reads the pool in addition to the view.
POOL_AWARE = {"eth_getTransactionCount"}
# Number of a block's steps that are queried again one by one.
STEPS = 3

StepAnswersByPosition = dict[tuple[int, int], "StepAnswers"]


class StepAnswers(NamedTuple):
    """Results of one process for `pending`."""

    process: int
    position: tuple[int, int]
    hash: str
    answers: list[Any]


def view_queries(rpc: Rpc, contract: str) -> list[TagQuery]:
    """Return every method whose result for a block tag depends only on that block, with parameters."""
    return [(method, params) for method, params in tag_queries(rpc, contract) if method not in POOL_AWARE]


def read_pending(process: int, rpc: Rpc, queries: list[TagQuery]) -> StepAnswers:
    """Return the results of one batch, and therefore one view."""
    status, *replies = answers(rpc, [("foreseal_status", []), *queries], "pending")
    position = int(status["block"], 16), int(status["index"], 16)
    return StepAnswers(process, position, status["hash"], replies)


def compare_with_sealed(
    everybody: list[Rpc], queries: list[TagQuery], seen: StepAnswersByPosition, rng: random.Random
) -> int:
    """Repeat one process's queries on every process; return the number of equal results."""
    compared = 0
    for number in sorted({number for number, _ in seen}):
        of_block = {position: one for position, one in seen.items() if position[0] == number}
        last = of_block[max(of_block)]
        sealed = everybody[-1]("eth_getBlockByNumber", hex(number), False)["hash"]
        # `pending` and the number are one block if the last seen step is the sealed one.
        if last.hash == sealed:
            for rpc in everybody:
                compared += _assert_same(queries, last, answers(rpc, queries, hex(number)))
        for position in rng.sample(sorted(of_block), min(STEPS, len(of_block))):
            one = of_block[position]
            place = {"blockNumber": hex(position[0]), "flashblockIndex": hex(position[1])}
            for rpc in everybody:
                block = rpc("eth_getBlockByNumber", place, True)
                before = one.answers[[method for method, _ in queries].index("eth_getBlockByNumber")]
                assert block == before, f"{position} of process {one.process}"
                assert rpc("eth_getBlockByHash", one.hash, True) == before
                compared += 2
    return compared


def _assert_same(queries: list[TagQuery], seen: StepAnswers, current_answers: list[Any]) -> int:
    """Assert that the results equal earlier ones; return their number."""
    for (method, _), before, now in zip(queries, seen.answers, current_answers, strict=True):
        assert now == before, f"{method} at {seen.position} of process {seen.process}"
    return len(current_answers)
