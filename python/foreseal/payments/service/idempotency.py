"""Idempotency-Key: what was answered once is answered again, and nothing is done twice.

```text
claim --> first:    done, and its answer stored with the key
      |-> replay:   the stored answer, if the request is the same; 422 if it is another one
      |-> 409:      the same request is being executed
      '-> again:    whoever executed it is gone (its lease is over): executed once more, with the same ids
```

Between an effect and its stored answer a process may die. The next execution then finds the effect by its own unique
key, and answers with it: an order, refund or payout has an id made from the Idempotency-Key where the caller gave none,
and a transition of an order is in its timeline behind `since`. Nothing else decides.
"""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from foreseal.payments.ledger import Database
from foreseal.payments.ledger.tables import timeline
from foreseal.payments.service.errors import ApiError
from foreseal.payments.service.tables import requests

HEADER = "Idempotency-Key"
LONGEST = 255


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and a body of JSON."""

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Claim:
    """A request that is ours to execute."""

    key: str
    owner: str
    """Of this execution alone."""
    since: int
    """Newest entry of the timeline when it was first begun."""
    again: bool
    """Whether an execution before this one ended we do not know where."""

    def id(self, prefix: str) -> str:
        """The id of what the request makes: always the same for one key."""
        return f"{prefix}_{hashlib.sha256(self.key.encode()).hexdigest()[:32]}"

    def happened(self, tx: Connection, subject: str, subject_id: str, *triggers: str) -> bool:
        """Whether one of these entered the timeline of a thing since the request was first begun."""
        wanted = select(timeline.c.id).where(
            timeline.c.subject == subject,
            timeline.c.subject_id == subject_id,
            timeline.c.id > self.since,
            timeline.c.trigger.in_(triggers),
        )
        return tx.execute(wanted.limit(1)).first() is not None


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests that a process executes."""

    database: Database
    clock: Callable[[], float]
    """Seconds since 1970."""
    owner: str
    """Name of this process."""
    lease: float
    """Seconds after which whoever executes a request is taken to be gone."""
    random: Callable[[], str] = secrets.token_hex

    def claim(self, key: str, fingerprint: str) -> Claim | Answer:
        """Begin a request, or answer with what is stored.

        Raises `ApiError`: 422 if the key was used for another request, 409 while it is being executed.
        """
        now, owner = self.clock(), f"{self.owner} {self.random()}"
        lease = {"owner": owner, "leased_until": now + self.lease}
        fresh = {"key": key, "fingerprint": fingerprint, "created": int(now)}
        try:
            # Not durable: an effect, which is, keeps it as well; lost with the power, there was none.
            with self.database.transaction(durable=False) as tx:
                newest = int(tx.execute(select(func.max(timeline.c.id))).scalar_one() or 0)
                tx.execute(insert(requests).values(**fresh, **lease, since=newest))
        except IntegrityError:  # it was begun before
            return self._claim_again(key, fingerprint, now, lease)
        return Claim(key, owner, newest, again=False)

    def _claim_again(self, key: str, fingerprint: str, now: float, lease: dict[str, Any]) -> Claim | Answer:
        with self.database.transaction(durable=False) as tx:
            row = tx.execute(select(requests).where(requests.c.key == key).with_for_update()).one()
            if row.fingerprint != fingerprint:
                told = "this key was used for another request: a new request needs a new key"
                raise ApiError(422, "idempotency_key_reused", told, HEADER)
            if row.status is not None:
                return Answer(row.status, bytes(row.answer))
            if row.leased_until > now:
                told = "this request is being executed: ask again with the same key"
                raise ApiError(409, "in_progress", told, HEADER, Retry_After="1")
            tx.execute(update(requests).where(requests.c.key == key).values(**lease))
            return Claim(key, lease["owner"], int(row.since), again=True)

    def conclude(self, claim: Claim, answer: Answer) -> None:
        """Store the answer of a request that is ours."""
        # Not durable: lost with the power, it is found out once more.
        with self.database.transaction(durable=False) as tx:
            tx.execute(self._ours(claim).values(status=answer.status, answer=answer.body))

    def release(self, claim: Claim) -> None:
        """Let it be executed again: what prevented it may pass. What it may have done so far will be found."""
        with self.database.transaction(durable=False) as tx:
            tx.execute(self._ours(claim).values(leased_until=0.0))

    def _ours(self, claim: Claim) -> Any:
        mine = (requests.c.key == claim.key) & (requests.c.owner == claim.owner) & requests.c.status.is_(None)
        return update(requests).where(mine)


def fingerprint(method: str, path: str, body: bytes) -> str:
    """What makes a request the same."""
    return hashlib.sha256(b"\n".join((method.encode(), path.encode(), body))).hexdigest()
