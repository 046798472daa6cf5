"""Processes on one database: which of them goes on with what."""

import zlib
from dataclasses import dataclass

from sqlalchemy import delete, insert, select, update

from foreseal.payments.ledger import Database
from foreseal.payments.service.tables import processes

# Leases after which a process that was not seen is forgotten.
_FORGOTTEN = 100


@dataclass(frozen=True, slots=True)
class Share:
    """What falls to a process. That two believe that something is theirs does no harm; it is only done twice."""

    rank: int
    count: int

    def has(self, subject: str) -> bool:
        """Whether an order, refund or payout is this process's to go on with."""
        return zlib.crc32(subject.encode()) % self.count == self.rank

    @property
    def first(self) -> bool:
        """Whether what one process alone does is this one's."""
        return self.rank == 0


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes that were seen lately. One that died is no longer counted after a lease."""

    database: Database
    id: str
    lease: float
    """Seconds."""

    def seen(self, now: float) -> Share:
        """Say that this one lives; its share."""
        with self.database.transaction(durable=False) as tx:
            mine = processes.c.id == self.id
            if tx.execute(update(processes).where(mine).values(seen=now)).rowcount == 0:
                tx.execute(insert(processes).values(id=self.id, seen=now))
                tx.execute(delete(processes).where(processes.c.seen < now - _FORGOTTEN * self.lease))
            living = select(processes.c.id).where(processes.c.seen > now - self.lease).order_by(processes.c.id)
            ids = list(tx.execute(living).scalars())
        return Share(ids.index(self.id), len(ids))

    def gone(self) -> None:
        """Say that this one ends."""
        with self.database.transaction() as tx:
            tx.execute(delete(processes).where(processes.c.id == self.id))

    def count(self, now: float) -> int:
        """How many there are."""
        with self.database.reading() as tx:
            return len(list(tx.execute(select(processes.c.id).where(processes.c.seen > now - self.lease))))
