"""Idempotency-Key: a repeated request gets the stored response, and nothing is done twice.

```text
claim --> first:    executed, and its response stored with the key
      |-> replay:   the stored response if the request is the same; 422 if it differs
      |-> 409:      the same request is being executed
      '-> again:    the previous executor's lease expired, or it was this process before a restart:
                    executed again, with the same ids
```

A process may crash between an effect and its stored response. The next execution finds the effect by its own unique
key, and returns it. An order, refund or payout without an id from the caller has an id derived from the
Idempotency-Key. A transition of an order is in its timeline after `since`. Only these two facts decide.

The payment queue claims no keys: it stores each response in the transaction of its effects (`stored`, `store`).
"""

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Update, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.models import RequestRecord
from foreseal.payments.ledger import Database
from foreseal.payments.ledger.models import TimelineRecord
from foreseal.payments.ledger.queries import ColumnValues, fetch_each, fetch_one, insert_all

HEADER = "Idempotency-Key"
MAX_KEY_LENGTH = 255


def _random_name() -> str:
    return secrets.token_hex(12)


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A status and a JSON body."""

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class RequestClaim:
    """A request that this process executes."""

    key: str
    lease_owner: str
    """Unique name of this execution."""
    since: int
    """Newest timeline entry when the request was first claimed."""
    again: bool
    """True if an earlier execution ended at an unknown point."""

    def id(self, prefix: str) -> str:
        """Return the id of a row that the request creates. One key always gives the same id."""
        return derived_id(self.key, prefix)

    def happened(self, tx: Connection, subject: str, subject_id: str, *triggers: str) -> bool:
        """Return True if one of these triggers entered the row's timeline since the request was first claimed."""
        query = select(TimelineRecord.id).where(
            TimelineRecord.subject == subject,
            TimelineRecord.subject_id == subject_id,
            TimelineRecord.id > self.since,
            TimelineRecord.trigger.in_(triggers),
        )
        return tx.execute(query.limit(1)).first() is not None


@dataclass(frozen=True, slots=True)
class IdempotentRequests:
    """Requests that a process executes."""

    database: Database
    clock: Callable[[], float]
    """Unix time in seconds."""
    lease_owner: str
    """Name of this process, and after a space its incarnation.

    Leases of another incarnation are those of a dead process.
    """
    lease: float
    """Seconds until a claimed request may be claimed by another process."""
    random: Callable[[], str] = _random_name

    def claim(self, key: str, fingerprint: str) -> RequestClaim | StoredResponse:
        """Claim a request, or return its stored response.

        Raises `ApiError` 422 if another request used the key, 409 while the request is being executed.
        """
        now, lease_owner = self.clock(), f"{self.lease_owner} {self.random()}"
        lease: ColumnValues = {RequestRecord.owner: lease_owner, RequestRecord.leased_until: now + self.lease}
        fresh: ColumnValues = {
            RequestRecord.key: key,
            RequestRecord.fingerprint: fingerprint,
            RequestRecord.created: int(now),
        }
        try:
            # Not durable: a durable effect makes it durable as well, and a loss means that there was no effect.
            with self.database.transaction(durable=False) as tx:
                newest = int(tx.execute(select(func.max(TimelineRecord.id))).scalar_one() or 0)
                tx.execute(insert(RequestRecord).values({**fresh, **lease, RequestRecord.since: newest}))
        except IntegrityError:  # the key exists
            return self._claim_again(key, fingerprint, now, lease)
        return RequestClaim(key, lease_owner, newest, again=False)

    def _claim_again(
        self, key: str, fingerprint: str, now: float, lease: ColumnValues
    ) -> RequestClaim | StoredResponse:
        with self.database.transaction(durable=False) as tx:
            row = fetch_one(tx, select(RequestRecord).where(RequestRecord.key == key).with_for_update())
            answer = self._answer(row, fingerprint, now)
            if isinstance(answer, ApiError):
                raise answer
            if answer is not None:
                return answer
            tx.execute(update(RequestRecord).where(RequestRecord.key == key).values(lease))
            return RequestClaim(key, lease[RequestRecord.owner], row.since, again=True)

    def _is_predecessor(self, other: str) -> bool:
        """Return True for an execution of an earlier process with the name of this one, which is dead."""
        return other.startswith(f"{self.lease_owner.partition(' ')[0]} ") and not other.startswith(
            f"{self.lease_owner} "
        )

    def conclude(self, claim: RequestClaim, answer: StoredResponse) -> None:
        """Store the response of a claimed request."""
        # Not durable: after a power loss, the response is determined again.
        with self.database.transaction(durable=False) as tx:
            tx.execute(
                self._ours(claim).values({RequestRecord.status: answer.status, RequestRecord.answer: answer.body})
            )

    def release(self, claim: RequestClaim) -> None:
        """Release a claim so that the request can run again after a temporary failure.

        A repeat finds any earlier effect.
        """
        with self.database.transaction(durable=False) as tx:
            tx.execute(self._ours(claim).values({RequestRecord.leased_until: 0.0}))

    def stored(self, tx: Connection, fingerprints: Mapping[str, str]) -> dict[str, StoredResponse | ApiError]:
        """Return, by key, the stored response, or the error if another request used the key or it is in progress.

        `fingerprints` of requests are by their keys. A key without an entry is unused, or the process that claimed it
        is dead; `store` then replaces the claim.
        """
        now = self.clock()
        responses: dict[str, StoredResponse | ApiError] = {}
        for row in fetch_each(tx, select(RequestRecord).where(RequestRecord.key.in_(list(fingerprints)))):
            answer = self._answer(row, fingerprints[row.key], now)
            if answer is not None:
                responses[row.key] = answer
        return responses

    def _answer(self, row: RequestRecord, fingerprint: str, now: float) -> StoredResponse | ApiError | None:
        """Return the answer to a repeat of a request; None if its execution has ended without a response."""
        if row.fingerprint != fingerprint:
            message = "this key was used for another request: send a new request with a new key"
            return ApiError(422, "idempotency_key_reused", message, HEADER)
        if row.status is not None:
            return StoredResponse(row.status, bytes(row.answer or b""))
        if row.leased_until <= now or self._is_predecessor(row.owner):
            return None
        message = "this request is in progress: retry with the same key"
        return ApiError(409, "in_progress", message, HEADER, Retry_After="1")

    def store(self, tx: Connection, answers: Sequence[tuple[str, str, StoredResponse]]) -> None:
        """Store responses, each with its key and fingerprint, in the transaction of their effects.

        Raises IntegrityError if a key exists.
        """
        now = self.clock()
        keys = [key for key, _, _ in answers]
        predecessor = RequestRecord.owner.startswith(f"{self.lease_owner.partition(' ')[0]} ", autoescape=True)
        predecessor &= ~RequestRecord.owner.startswith(f"{self.lease_owner} ", autoescape=True)
        dead = RequestRecord.status.is_(None) & ((RequestRecord.leased_until <= now) | predecessor)
        tx.execute(delete(RequestRecord).where(RequestRecord.key.in_(keys), dead))
        rows: list[ColumnValues] = [
            {
                RequestRecord.key: key,
                RequestRecord.fingerprint: fingerprint,
                RequestRecord.since: 0,
                RequestRecord.owner: self.lease_owner,
                RequestRecord.leased_until: now,
                RequestRecord.created: int(now),
                RequestRecord.status: answer.status,
                RequestRecord.answer: answer.body,
            }
            for key, fingerprint, answer in answers
        ]
        insert_all(tx, RequestRecord, rows)

    def _ours(self, claim: RequestClaim) -> Update:
        mine = (
            (RequestRecord.key == claim.key)
            & (RequestRecord.owner == claim.lease_owner)
            & RequestRecord.status.is_(None)
        )
        return update(RequestRecord).where(mine)


def derived_id(key: str, prefix: str) -> str:
    """Return the id of a row that a request with this key creates. One key always gives the same id."""
    return f"{prefix}_{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def fingerprint(method: str, path: str, body: bytes) -> str:
    """Return the hash that identifies a request."""
    return hashlib.sha256(b"\n".join((method.encode(), path.encode(), body))).hexdigest()
