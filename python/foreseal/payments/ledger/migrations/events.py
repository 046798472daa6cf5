"""Events of a migration: its progress, and its crash points."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from foreseal.payments.crash_points import MigrationPoint, OnCrashPoint, ignore_crash_point


def ignore_progress(_: str) -> None:
    """Ignore the line."""


@dataclass(frozen=True, slots=True)
class MigrationEvents:
    """Callbacks during an upgrade."""

    report: Callable[[str], None] = ignore_progress
    """Receives a line for people after each part of the work."""
    passed: OnCrashPoint = ignore_crash_point

    @classmethod
    def current(cls) -> Self:
        """Return the events of the upgrade that runs the calling migration."""
        from alembic import op  # only an upgrade imports Alembic

        config = op.get_context().config
        assert config is not None, "the upgrade passes a configuration"
        events = config.attributes["events"]
        assert isinstance(events, cls)
        return events

    def applied(self, revision: str, title: str) -> None:
        """Report that a revision is complete and recorded, but not yet committed."""
        self.report(f"{revision}: {title}")
        self.passed(MigrationPoint.REVISION_RECORDED)
