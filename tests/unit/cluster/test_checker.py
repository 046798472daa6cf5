"""The checker accepts a correct recording and finds a planted violation of each kind."""

from dataclasses import replace
from pathlib import Path

import pytest

from cluster.checker import CheckReport, Violation, check
from cluster.recording import (
    AppliedFault,
    EngineHead,
    EngineOwner,
    FinalChain,
    Recording,
    ShownStep,
    read,
    write,
)
from cluster.takeovers import TakeoverTime, summarize, takeovers

PROCESSES = ("leader", "standby-1", "replica-1")
STEPS_OF_BLOCK = 5
# The takeover comes in the middle of a block: the second owner continues it.
TAKEOVER = 13
COUNT = 25


def hash_of(number: int) -> str:
    return f"0x{number + 1:064x}"


def correct() -> Recording:
    """Return a recording of 25 steps at three processes, with one takeover before step 13."""
    recording = Recording()
    for at in range(COUNT):
        block, index = 1 + at // STEPS_OF_BLOCK, at % STEPS_OF_BLOCK
        epoch = 1 if at < TAKEOVER else 2
        seconds = 10 + at * 0.2 + (1.5 if epoch == 2 else 0)
        recording.heads.append(EngineHead(seconds, 100 + 2 * at, epoch, at, f"append {at}", block, index))
        step = ShownStep(
            "", seconds + 0.01, block, index, hash_of(at), hash_of(at - 1), "0x01", at, (f"tx {at} a", f"tx {at} b")
        )
        recording.steps += [replace(step, process=process, epoch=epoch) for process in PROCESSES]
    takeover = recording.heads[TAKEOVER]
    recording.owners = [
        EngineOwner(9.0, 90, 1, "aa", "leader"),
        EngineOwner(takeover.at - 0.3, takeover.revision - 1, 2, "bb", "standby-1"),
    ]
    recording.faults = [AppliedFault("kill", ("leader",), takeover.at - 1.3, takeover.at, 1)]
    blocks = {1 + at // STEPS_OF_BLOCK: hash_of(at) for at in range(STEPS_OF_BLOCK - 1, COUNT, STEPS_OF_BLOCK)}
    recording.final = FinalChain(5, 4, hash_of(COUNT - 1), blocks)
    return recording


def kinds(report: CheckReport) -> set[Violation]:
    return {kind for kind, _ in report.violations}


def test_correct_recording_has_no_violation() -> None:
    report = check(correct(), "0xAB", lambda step: "0xab")
    assert report.violations == []
    assert (report.shown, report.distinct, report.transactions) == (3 * COUNT, COUNT, 2 * COUNT)
    assert (report.appends, report.owners) == (COUNT, 2)


def test_shown_step_that_the_final_chain_lacks_is_lost() -> None:
    recording = correct()
    step = replace(recording.steps[30], hash="0xff")
    recording.steps.append(step)
    assert kinds(check(recording)) == {Violation.LOST, Violation.CHANGED}


def test_step_after_the_final_step_is_lost() -> None:
    recording = correct()
    last = recording.heads[-1]
    recording.heads.append(replace(last, sequence=COUNT, revision=last.revision + 1, block=6, index=0))
    step = replace(recording.steps[-1], number=6, index=0, hash="0xff", previous=hash_of(COUNT - 1), transactions=())
    recording.steps.append(step)
    assert kinds(check(recording)) == {Violation.LOST}


def test_reorged_step_is_lost() -> None:
    recording = correct()
    recording.steps.append(replace(recording.steps[9], removed=True))
    assert kinds(check(recording)) == {Violation.LOST}


@pytest.mark.parametrize(
    "change", [{"signature": "0x02"}, {"time": 7}, {"transactions": ("tx x",)}, {"previous": "0xee"}], ids=str
)
def test_step_with_different_content_at_one_process_is_changed(change: dict[str, object]) -> None:
    recording = correct()
    recording.steps[4] = replace(recording.steps[4], **change)  # type: ignore[arg-type]
    assert kinds(check(recording)) == {Violation.CHANGED}


def test_two_steps_at_one_position_are_changed() -> None:
    recording = correct()
    recording.steps[-1] = replace(recording.steps[-1], hash="0xff")
    assert Violation.CHANGED in kinds(check(recording))


def test_step_that_does_not_follow_the_step_before_is_unlinked() -> None:
    recording = correct()
    recording.steps = [replace(step, previous="0xee") if step.position == (3, 2) else step for step in recording.steps]
    assert Violation.UNLINKED in kinds(check(recording))


def test_two_appends_with_one_sequence_have_two_owners() -> None:
    recording = correct()
    first = recording.heads[TAKEOVER]
    recording.heads.append(replace(first, revision=first.revision + 1))
    assert kinds(check(recording)) == {Violation.TWO_OWNERS}


def test_append_of_a_fenced_owner_is_found() -> None:
    recording = correct()
    recording.heads[TAKEOVER] = replace(recording.heads[TAKEOVER], epoch=1)
    assert kinds(check(recording)) == {Violation.TWO_OWNERS}


def test_two_owners_of_one_epoch_are_found() -> None:
    recording = correct()
    recording.owners.append(EngineOwner(99.0, 900, 2, "cc", "leader"))
    assert kinds(check(recording)) == {Violation.TWO_OWNERS}


def test_step_without_append_is_beyond_the_fence() -> None:
    recording = correct()
    recording.heads.pop()
    assert kinds(check(recording)) == {Violation.BEYOND_FENCE}


def test_step_shown_by_a_fenced_owner_is_beyond_the_fence() -> None:
    recording = correct()
    at = 3 * TAKEOVER
    recording.steps[at] = replace(recording.steps[at], epoch=1)
    assert kinds(check(recording)) == {Violation.BEYOND_FENCE}


def test_older_step_in_the_view_of_a_newer_owner_is_correct() -> None:
    recording = correct()
    at = 3 * TAKEOVER - 1
    recording.steps[at] = replace(recording.steps[at], epoch=2)
    assert check(recording).violations == []


def test_append_of_several_steps_is_correct() -> None:
    recording = correct()
    del recording.heads[7]
    recording.heads = [replace(head, sequence=number) for number, head in enumerate(recording.heads)]
    assert check(recording).violations == []


def test_transaction_in_two_steps_is_found() -> None:
    recording = correct()
    recording.steps = [
        replace(step, transactions=(*step.transactions, "tx 2 a")) if step.position == (4, 1) else step
        for step in recording.steps
    ]
    assert kinds(check(recording)) == {Violation.TWICE}


def test_transaction_twice_in_one_step_is_found() -> None:
    recording = correct()
    recording.steps = [
        replace(step, transactions=("tx 0 a",) * 2) if step.position == (1, 0) else step for step in recording.steps
    ]
    assert kinds(check(recording)) == {Violation.TWICE}


def test_other_signer_and_missing_signature_are_found() -> None:
    def signer_of(step: ShownStep) -> str:
        if step.position == (2, 2):
            raise ValueError("no signature")
        return "0xcd" if step.position == (2, 3) else "0xab"

    report = check(correct(), "0xab", signer_of)
    assert report.counts == {kind.value: 2 if kind == Violation.SIGNER else 0 for kind in Violation}


def test_block_whose_steps_are_not_all_recorded_is_incomplete() -> None:
    recording = correct()
    recording.steps = [step for step in recording.steps if step.position != (2, 4)]
    report = check(recording)
    assert report.counts["incomplete"] == 4
    assert kinds(report) == {Violation.INCOMPLETE}


def test_empty_recording_or_problem_is_incomplete() -> None:
    assert kinds(check(Recording())) == {Violation.INCOMPLETE}
    recording = correct()
    recording.problems.append("no step for 30 s")
    assert kinds(check(recording)) == {Violation.INCOMPLETE}


def test_recording_is_equal_after_writing_and_reading(tmp_path: Path) -> None:
    recording = correct()
    recording.problems.append("problem")
    write(recording, tmp_path / "recording.jsonl")
    assert read(tmp_path / "recording.jsonl") == recording


def test_takeover_times_begin_with_the_fault() -> None:
    recording = correct()
    late = next(step for step in recording.steps if step.process == "replica-1" and step.epoch == 2)
    recording.steps[recording.steps.index(late)] = replace(late, at=late.at + 0.1)
    times = takeovers(recording)
    assert times == [TakeoverTime("kill", 1000, 1310, 1410)]
    summary = summarize([*times, TakeoverTime("pause", 900, None, None)])
    assert (summary["kill"]["first_step"].max, summary["kill"]["everywhere"].max) == (1310, 1410)
    assert (summary["all"]["fence"].count, summary["all"]["fence"].p99) == (2, 1000)
    assert summary["pause"].keys() == {"fence"}


def test_process_that_shows_no_new_step_is_not_everywhere() -> None:
    recording = correct()
    recording.steps = [step for step in recording.steps if step.process != "replica-1" or step.epoch == 1]
    assert takeovers(recording) == [TakeoverTime("kill", 1000, 1310, None)]


def test_fault_without_takeover_has_no_time() -> None:
    recording = correct()
    recording.faults = [replace(recording.faults[0], epoch=2)]
    assert takeovers(recording) == []
