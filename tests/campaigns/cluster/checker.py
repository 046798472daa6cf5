"""Checks a recording: what processes showed against each other, against the engine, and against the final chain.

A pure function of the recording: it reads no clock, no file and no process.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

from cluster.recording import EngineHead, FinalChain, Recording, ShownStep, StepPosition

SignerOf = Callable[[ShownStep], str]
"""Returns the address that signed a step. Raises ValueError if there is none."""


class Violation(StrEnum):
    """A broken guarantee."""

    LOST = "lost"
    """A shown step is not on the final chain, or was reported as reorged."""
    CHANGED = "changed"
    """Two different steps were shown at one position, or one step with different content."""
    UNLINKED = "unlinked"
    """A shown step does not follow the shown step before it."""
    TWO_OWNERS = "two_owners"
    """Two owners wrote one sequence number, or an owner wrote after it had lost the ownership."""
    BEYOND_FENCE = "beyond_fence"
    """A step was shown that the engine does not have from this owner."""
    TWICE = "twice"
    """A transaction is in two steps, or twice in one."""
    SIGNER = "signer"
    """A step has no signature, or that of another key."""
    INCOMPLETE = "incomplete"
    """The recording does not prove that nothing was lost, or the cluster did not recover."""


@dataclass
class CheckReport:
    """Violations by kind, and how much was compared."""

    violations: list[tuple[Violation, str]] = field(default_factory=list)
    shown: int = 0
    """Steps shown, each counted at every process."""
    distinct: int = 0
    transactions: int = 0
    appends: int = 0
    owners: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """Number of violations of each kind, also of those without any."""
        counts = Counter(kind for kind, _ in self.violations)
        return {kind.value: counts[kind] for kind in Violation}

    def add(self, kind: Violation, detail: str) -> None:
        """Record a violation."""
        self.violations.append((kind, detail))


def check(recording: Recording, signer: str | None = None, signer_of: SignerOf | None = None) -> CheckReport:
    """Check a recording; with `signer_of` also that `signer` signed every step."""
    report = CheckReport()
    distinct = _check_content(recording.steps, report)
    _check_links(distinct, report)
    _check_transactions(distinct, report)
    _check_engine(recording, report)
    _check_fence(recording, report)
    _check_final(distinct, recording.final, report)
    if signer_of is not None:
        _check_signers(distinct, (signer or "").lower(), signer_of, report)
    for problem in recording.problems:
        report.add(Violation.INCOMPLETE, problem)
    if not recording.steps or not recording.heads:
        report.add(Violation.INCOMPLETE, "the recording has no steps or no appends")
    report.shown, report.distinct = len(recording.steps), len(distinct)
    report.appends, report.owners = len(recording.heads), len(recording.owners)
    return report


def _check_content(steps: list[ShownStep], report: CheckReport) -> dict[str, ShownStep]:
    """Compare the content of each step at all processes, and return one of each hash."""
    distinct: dict[str, ShownStep] = {}
    by_position: dict[StepPosition, ShownStep] = {}
    reported: set[object] = set()
    for step in steps:
        if step.removed:
            report.add(Violation.LOST, f"{named(step)} was reported as reorged")
            continue
        first = distinct.setdefault(step.hash, step)
        other = by_position.setdefault(step.position, step)
        if first.content != step.content and step.hash not in reported:
            reported.add(step.hash)
            report.add(Violation.CHANGED, f"{named(step)} has other content than at {first.process}")
        elif other.hash != step.hash and (step.position, step.hash) not in reported:
            reported.add((step.position, step.hash))
            report.add(Violation.CHANGED, f"{named(step)}, but {named(other)}")
    return distinct


def _check_links(distinct: dict[str, ShownStep], report: CheckReport) -> None:
    by_position: dict[StepPosition, ShownStep] = {}
    for step in distinct.values():
        # A second step at a position is reported as a change.
        by_position.setdefault(step.position, step)
    ends: dict[int, ShownStep] = {}
    for position, step in by_position.items():
        if position.number not in ends or ends[position.number].index < position.step:
            ends[position.number] = step
    for step in distinct.values():
        if step.index > 0:
            before = by_position.get(StepPosition(step.number, step.index - 1))
            linked = before is None or before.hash == step.previous
        else:
            # No reader may have seen the last step of the block before: only a recorded step can contradict.
            before = distinct.get(step.previous)
            linked = before is None or before == ends.get(step.number - 1)
        if not linked:
            report.add(Violation.UNLINKED, f"{named(step)} follows {step.previous}, not {named(before or step)}")


def _check_transactions(distinct: dict[str, ShownStep], report: CheckReport) -> None:
    seen: dict[str, ShownStep] = {}
    for step in sorted(distinct.values(), key=lambda each: each.position):
        for transaction in step.transactions:
            other = seen.setdefault(transaction, step)
            # Two steps at one position are a change; the transaction is then in one position only.
            if other.position != step.position:
                report.add(Violation.TWICE, f"{transaction} is in {named(other)} and in {named(step)}")
        if len(set(step.transactions)) < len(step.transactions):
            report.add(Violation.TWICE, f"{named(step)} has a transaction twice")
    report.transactions = len(seen)


def _check_engine(recording: Recording, report: CheckReport) -> None:
    owners = sorted(recording.owners, key=lambda each: each.revision)
    for before, owner in pairwise(owners):
        same = before.run_id == owner.run_id
        if owner.epoch < before.epoch or (owner.epoch == before.epoch and not same):
            report.add(
                Violation.TWO_OWNERS, f"{owner.name} owns epoch {owner.epoch} after {before.name} {before.epoch}"
            )
    revisions = [owner.revision for owner in owners]
    last: EngineHead | None = None
    for head in sorted(recording.heads, key=lambda each: each.revision):
        if last is not None and head.sequence != last.sequence + 1:
            report.add(
                Violation.TWO_OWNERS,
                f"epoch {head.epoch} wrote append {head.sequence} after {last.sequence} of epoch {last.epoch}",
            )
        # The first owner may be older than the recording.
        position = bisect_left(revisions, head.revision)
        if position and head.epoch != owners[position - 1].epoch:
            report.add(
                Violation.TWO_OWNERS,
                f"epoch {head.epoch} wrote append {head.sequence} while {owners[position - 1].name} owned epoch "
                f"{owners[position - 1].epoch}",
            )
        last = head


def _check_fence(recording: Recording, report: CheckReport) -> None:
    # An append may contain several steps: the first append whose newest step is not older has the step.
    heads = sorted(recording.heads, key=lambda each: each.revision)
    positions = [head.position for head in heads]
    reported: set[tuple[str, str]] = set()
    for step in recording.steps:
        if step.removed or not heads or (step.process, step.hash) in reported:
            continue
        index = bisect_left(positions, step.position)
        if index == len(heads):
            reported.add((step.process, step.hash))
            report.add(Violation.BEYOND_FENCE, f"{named(step)}: the engine has no such append")
        elif step.epoch is not None and index and step.epoch < heads[index].epoch:
            reported.add((step.process, step.hash))
            report.add(
                Violation.BEYOND_FENCE,
                f"{named(step)}, shown as of epoch {step.epoch}: epoch {heads[index].epoch} wrote it",
            )


def _check_final(distinct: dict[str, ShownStep], final: FinalChain | None, report: CheckReport) -> None:
    if final is None:
        report.add(Violation.INCOMPLETE, "the final chain was not read")
        return
    on_chain, complete = _final_steps(distinct, final)
    for step in distinct.values():
        if step.hash in on_chain:
            continue
        if step.position > (final.number, final.index):
            report.add(Violation.LOST, f"{named(step)} is after the final step {final.number}.{final.index}")
        elif step.number in complete:
            report.add(Violation.LOST, f"{named(step)} is not on the final chain")
        elif step.number <= final.number:
            report.add(Violation.INCOMPLETE, f"{named(step)}: no reader has all later steps of the block")


def _final_steps(distinct: dict[str, ShownStep], final: FinalChain) -> tuple[set[str], set[int]]:
    """Return the hashes of the final chain's steps, and the blocks all of whose steps readers have."""
    on_chain: set[str] = set()
    complete: set[int] = set()
    for number, hash in {**final.blocks, final.number: final.hash}.items():
        for step in _walk_back(distinct, hash):
            if step.number != number:
                break
            on_chain.add(step.hash)
            if step.index == 0:
                complete.add(number)
    return on_chain, complete


def _walk_back(distinct: dict[str, ShownStep], hash: str) -> Iterator[ShownStep]:
    passed: set[str] = set()
    while hash in distinct and hash not in passed:
        passed.add(hash)
        yield distinct[hash]
        hash = distinct[hash].previous


def _check_signers(distinct: dict[str, ShownStep], signer: str, signer_of: SignerOf, report: CheckReport) -> None:
    for step in distinct.values():
        try:
            recovered = signer_of(step).lower()
        except ValueError as error:
            report.add(Violation.SIGNER, f"{named(step)}: {error}")
            continue
        if recovered != signer:
            report.add(Violation.SIGNER, f"{named(step)} is signed by {recovered}, not by {signer}")


def named(step: ShownStep) -> str:
    """Return process, position and hash of a step for a message."""
    return f"{step.process} showed step {step.number}.{step.index} {step.hash[:12]}"
