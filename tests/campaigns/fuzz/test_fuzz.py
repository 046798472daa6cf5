"""The Python targets over every saved input and some damaged ones: the short form of `make fuzz`."""

import random

import pytest

from fuzz.campaign import rust_targets
from fuzz.corpus import SAVED, damaged, inputs
from fuzz.targets import TARGETS

EXECUTIONS = {"sender": 300, "websocket": 300}
"""Number of damaged inputs if it differs from a thousand."""


@pytest.mark.parametrize("name", TARGETS)
def test_saved_and_damaged_inputs_satisfy_every_property(name: str) -> None:
    target, saved = TARGETS[name], inputs(name)
    assert len(saved) > 3
    chance = random.Random(1)
    others = (damaged(chance, saved, target.longest) for _ in range(EXECUTIONS.get(name, 1000)))
    try:
        for data in (b"", *saved, *others):
            try:
                target.run(data)
            except BaseException as error:
                error.add_note(f"input: {data!r}")
                raise
    finally:
        target.stop()


def test_every_corpus_folder_has_a_target() -> None:
    targets = {*rust_targets(), *TARGETS}
    assert len(targets) >= 18
    assert {folder.name for folder in SAVED.iterdir()} == targets
