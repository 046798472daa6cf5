"""The check of a feed finds every contradiction."""

from dataclasses import replace

import pytest

from cluster.recording import ShownStep
from optimism_chain.feed_reader import FeedChain


def step(number: int, index: int, hash: str, previous: str) -> ShownStep:
    return ShownStep("feed", 0.0, number, index, hash, previous, None, 0, (f"transaction of {hash}",))


FIRST = step(1, 0, "a", "genesis")
SECOND = step(1, 1, "b", "a")
OTHER = step(1, 0, "x", "genesis")


def shown(*steps: ShownStep) -> FeedChain:
    chain = FeedChain("genesis")
    for each in steps:
        chain.apply(each)
    return chain


def withdrawn(step: ShownStep) -> ShownStep:
    return replace(step, removed=True)


def test_withdrawn_steps_leave_the_chain_from_its_end() -> None:
    feed = shown(FIRST, SECOND, withdrawn(SECOND), withdrawn(FIRST), OTHER, step(2, 0, "y", "x"))
    assert feed.faults == []
    assert [each.hash for each in feed.chain] == ["x", "y"]
    assert (feed.withdrawn, set(feed.shown), feed.tip) == (2, {"a", "b", "x", "y"}, "y")


@pytest.mark.parametrize(
    ("steps", "fault"),
    [
        ((FIRST, SECOND, withdrawn(FIRST)), "step 1.0 a is withdrawn, and was not shown as the newest step"),
        ((FIRST, withdrawn(replace(FIRST, transactions=()))), "step 1.0 a is withdrawn, and was not shown"),
        ((withdrawn(FIRST),), "step 1.0 a is withdrawn, and was not shown as the newest step"),
        ((FIRST, OTHER), "step 1.0 x follows genesis, not a"),
        ((FIRST, step(1, 2, "b", "a")), "step 1.2 b should have index 1"),
        ((FIRST, step(2, 1, "b", "a")), "step 2.1 b should have index 0"),
    ],
    ids=["not-newest", "other-content", "not-shown", "replaced", "missing-index", "begins-in-the-middle"],
)
def test_contradiction_is_a_fault(steps: tuple[ShownStep, ...], fault: str) -> None:
    assert shown(*steps).faults[0].startswith(fault)
