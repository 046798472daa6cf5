"""Steps on both sides of a takeover."""

from benches.cluster.takeover_transcript import first_of_epoch

from cluster.recording import EngineHead, Recording, ShownStep


def head(epoch: int, index: int) -> EngineHead:
    return EngineHead(float(index), 100 + index, epoch, index, "", 1, index)


def step(index: int) -> ShownStep:
    return ShownStep("standby", float(index), 1, index, f"0x{index}", f"0x{index - 1}", None, 0, ())


def test_step_that_the_old_owner_appended_is_not_the_first_of_the_new_one() -> None:
    recording = Recording(heads=[head(1, 0), head(1, 2), head(2, 3)])
    steps = [step(index) for index in range(4)]
    assert first_of_epoch(recording, steps, 2) == steps[3]
    assert first_of_epoch(recording, steps, 1) == steps[0]


def test_owner_without_a_shown_step_has_none() -> None:
    recording = Recording(heads=[head(1, 0), head(2, 1)])
    assert first_of_epoch(recording, [step(0)], 2) is None
