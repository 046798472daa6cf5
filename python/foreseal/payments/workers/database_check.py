"""Check of the database: the figures that /healthz and /metrics report."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from foreseal.payments.api.models import DeliveryRecord, DeliveryState, WebhookRecord
from foreseal.payments.ledger import Database
from foreseal.payments.workers.process_registry import ProcessRegistry


@dataclass(frozen=True, slots=True)
class CheckedDatabase:
    """State of the database at the end of a check."""

    reachable: bool
    pending: int = 0
    """Deliveries of webhooks that wait."""
    dead: int = 0
    """Deliveries of webhooks whose attempts all failed."""
    processes: int = 0
    """Active processes."""


class DatabaseCheck:
    """Check of one database."""

    def __init__(self, database: Database, processes: ProcessRegistry, clock: Callable[[], float]) -> None:
        """Set up the check. `clock` is Unix time in seconds."""
        self._database = database
        self._processes = processes
        self._clock = clock

    def __call__(self) -> CheckedDatabase:
        """Check once. Raises nothing."""
        try:
            with self._database.reading() as tx:
                # Delivered ones are never deleted, so a count of all would grow without bound.
                open_ = DeliveryRecord.state.in_((DeliveryState.WAITING, DeliveryState.DEAD))
                # A retired target retains its dead deliveries.
                active = DeliveryRecord.webhook_id.in_(select(WebhookRecord.id).where(WebhookRecord.retired.is_(None)))
                query = select(DeliveryRecord.state, func.count()).where(open_, active)
                counts = dict(tx.execute(query.group_by(DeliveryRecord.state)).all())
            processes = self._processes.count(self._clock())
        except SQLAlchemyError:
            return CheckedDatabase(reachable=False)
        waiting, dead = counts.get(DeliveryState.WAITING, 0), counts.get(DeliveryState.DEAD, 0)
        return CheckedDatabase(True, waiting, dead, processes)
