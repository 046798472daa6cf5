"""Processes that share a database, and the division of work between them."""

import logging
import zlib
from dataclasses import dataclass, field

from sqlalchemy import delete, insert, select, update

from foreseal.payments.api.models import ProcessRecord
from foreseal.payments.ledger import Database
from foreseal.payments.workers.process_name import NameLock, NoLock

log = logging.getLogger(__name__)

# Number of leases after which an unseen process is deleted.
_FORGOTTEN = 100


@dataclass(frozen=True, slots=True)
class WorkShare:
    """Share of a process in the work. Overlapping shares are harmless: the work is only done twice."""

    rank: int
    count: int

    def has(self, subject: str) -> bool:
        """Return True if an order, refund or payout belongs to this process."""
        return zlib.crc32(subject.encode()) % self.count == self.rank

    @property
    def first(self) -> bool:
        """True if this process does the work that needs one process only."""
        return self.rank == 0


@dataclass(frozen=True, slots=True)
class ProcessRegistry:
    """Registry of active processes. A crashed process no longer counts after one lease."""

    database: Database
    id: str
    lease: float
    """Seconds."""
    lock: NameLock = field(default_factory=NoLock)
    """Lock of the name, which each heartbeat checks."""

    def heartbeat(self, now: float) -> WorkShare:
        """Record that this process is alive. Return its share."""
        if not self.lock.acquire():  # its connection was lost, and another process was faster
            log.error("another process has the same name", extra={"process_name": self.id})
        with self.database.transaction(durable=False) as tx:
            mine = ProcessRecord.id == self.id
            if tx.execute(update(ProcessRecord).where(mine).values({ProcessRecord.seen: now})).rowcount == 0:
                tx.execute(insert(ProcessRecord).values({ProcessRecord.id: self.id, ProcessRecord.seen: now}))
                tx.execute(delete(ProcessRecord).where(ProcessRecord.seen < now - _FORGOTTEN * self.lease))
            living = select(ProcessRecord.id).where(ProcessRecord.seen > now - self.lease).order_by(ProcessRecord.id)
            ids = list(tx.execute(living).scalars())
        return WorkShare(ids.index(self.id), len(ids))

    def remove(self) -> None:
        """Remove this process from the registry, and release its name."""
        with self.database.transaction() as tx:
            tx.execute(delete(ProcessRecord).where(ProcessRecord.id == self.id))
        self.lock.release()

    def count(self, now: float) -> int:
        """Return the number of active processes."""
        with self.database.reading() as tx:
            return len(list(tx.execute(select(ProcessRecord.id).where(ProcessRecord.seen > now - self.lease))))
