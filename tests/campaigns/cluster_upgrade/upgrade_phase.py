"""Phases of an upgrade, and what clients noticed in each."""

from collections.abc import Sequence
from dataclasses import dataclass

from cluster_upgrade.submission_probe import Submission


@dataclass(frozen=True, slots=True)
class UpgradePhase:
    """One restart or the handover; times are on the monotonic clock."""

    name: str
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class PhaseFigures:
    """Submissions and reads that began in a phase; times in ms."""

    name: str
    seconds: float
    submissions: int
    rejected: int
    """Submissions whose first attempt was rejected."""
    longest_rejection_ms: int
    longest_delay_ms: int
    """From the first attempt until acceptance, also of submissions that waited without a rejection."""
    failed_reads: int


def phase_figures(
    phases: Sequence[UpgradePhase], submissions: Sequence[Submission], failed_reads: Sequence[float]
) -> list[PhaseFigures]:
    """Return the figures of each phase; a submission belongs to the phase in which it began."""
    rows = []
    for phase in phases:
        own = [each for each in submissions if phase.began <= each.began < phase.ended]
        rows.append(
            PhaseFigures(
                phase.name,
                round(phase.ended - phase.began, 1),
                len(own),
                sum(each.first_rejection is not None for each in own),
                max((round(each.rejected_seconds * 1000) for each in own), default=0),
                max((round((each.accepted - each.began) * 1000) for each in own), default=0),
                sum(phase.began <= at < phase.ended for at in failed_reads),
            )
        )
    return rows
