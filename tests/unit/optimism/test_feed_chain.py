"""The check of a feed finds every contradiction."""

from dataclasses import replace

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
    found = shown(FIRST, SECOND, withdrawn(SECOND), withdrawn(FIRST), OTHER, step(2, 0, "y", "x"))
    assert found.faults == []
    assert [each.hash for each in found.chain] == ["x", "y"]
    assert (found.withdrawn, set(found.shown), found.tip) == (2, {"a", "b", "x", "y"}, "y")


def test_contradictions_are_faults() -> None:
    wrong = {
        "not the newest": (FIRST, SECOND, withdrawn(FIRST)),
        "not as it was shown": (FIRST, replace(FIRST, removed=True, transactions=())),
        "never shown": (withdrawn(FIRST),),
        "replaced without notice": (FIRST, OTHER),
        "an index is missing": (FIRST, step(1, 2, "b", "a")),
        "a block begins in its middle": (FIRST, step(2, 1, "b", "a")),
    }
    assert {name: bool(shown(*steps).faults) for name, steps in wrong.items()} == dict.fromkeys(wrong, True)
