"""Sessions of the dashboard: each was opened with an API key, has that key's role, and ends with the key.

```text
open --> used --> closed     by its user, or by a new sign-in of the same browser
          |-----> idle       no request for the idle limit
          |-----> expired    the lifetime has passed
          |-----> revoked    its API key was revoked
          '-----> displaced  its key opened more sessions than the maximum
```

The id of a session is 32 random bytes that only the browser has; the database stores a hash of it.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import ColumnElement, delete, insert, select, update

from foreseal.payments.api.models import ApiKeyRecord, SessionRecord
from foreseal.payments.ledger import Database
from foreseal.payments.ledger.queries import ColumnValues, fetch_one_or_none

MAX_SESSIONS = 20
"""Maximum number of sessions of an API key; a new one ends the oldest."""

# Sessions of all keys that a process caches.
_CACHE_SIZE = 1_000
_CACHE_SECONDS = 1.0
# Seconds after which the use of a session is recorded again.
_RECORD_INTERVAL = 30
_ID_LENGTH = 64


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """Times after which a session ends, in seconds."""

    idle: int
    lifetime: int


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A valid session."""

    id: str
    key: ApiKeyRecord
    """API key with which it was opened."""
    created: int
    used: int
    """Last recorded use."""

    @property
    def csrf_token(self) -> str:
        """Token that a page of the session sends with each change. Pages of other origins cannot know it."""
        return hmac.new(self.id.encode(), b"csrf token", hashlib.sha256).hexdigest()


class Sessions:
    """Sessions in the database, so that every process accepts them. Safe from any thread."""

    def __init__(self, database: Database, clock: Callable[[], float], limits: SessionLimits) -> None:
        """Use the sessions of a database. `clock` returns Unix time in seconds."""
        self.limits = limits
        self._database = database
        self._clock = clock
        self._cached: dict[str, tuple[float, OpenSession]] = {}

    def open(self, key: ApiKeyRecord) -> OpenSession:
        """Open a session with a new id, and delete sessions that have ended."""
        id, now = secrets.token_hex(_ID_LENGTH // 2), int(self._clock())
        values: ColumnValues = {
            SessionRecord.hash: _hash(id),
            SessionRecord.key_id: key.id,
            SessionRecord.created: now,
            SessionRecord.used: now,
        }
        own = SessionRecord.key_id == key.id
        newest = select(SessionRecord.hash).where(own).order_by(SessionRecord.created.desc(), SessionRecord.hash)
        with self._database.transaction() as tx:
            tx.execute(delete(SessionRecord).where(~self._is_valid(now)))
            kept = list(tx.execute(newest.limit(MAX_SESSIONS - 1)).scalars())
            tx.execute(delete(SessionRecord).where(own, SessionRecord.hash.not_in(kept)))
            tx.execute(insert(SessionRecord).values(values))
        return OpenSession(id, key, now, now)

    def cached(self, id: str) -> OpenSession | None:
        """Return a session if that needs no database."""
        entry = self._cached.get(id)
        return entry[1] if entry is not None and self._clock() < entry[0] else None

    def find(self, id: str, *, counts_as_use: bool = True) -> OpenSession | None:
        """Return the session with this id if it has not ended.

        Without `counts_as_use`, the request does not prolong it.
        """
        if len(id) != _ID_LENGTH:
            return None
        cached = self.cached(id)
        if cached is not None:
            return cached
        now = int(self._clock())
        session = self._read(id, now)
        if session is None:
            self._cached.pop(id, None)
            return None
        if counts_as_use:
            if now - session.used >= min(_RECORD_INTERVAL, self.limits.idle // 4):
                self._record_use(id, now)
            # A cached session is not prolonged; a request that does not count as use must not hide one that does.
            self._cache(session)
        return session

    def close(self, id: str) -> None:
        """End a session. Other processes may cache it for a second."""
        self._cached.pop(id, None)
        with self._database.transaction() as tx:
            tx.execute(delete(SessionRecord).where(SessionRecord.hash == _hash(id)))

    def _read(self, id: str, now: int) -> OpenSession | None:
        with self._database.reading() as tx:
            query = select(SessionRecord).where(SessionRecord.hash == _hash(id), self._is_valid(now))
            row = fetch_one_or_none(tx, query)
            if row is None:
                return None
            active = (ApiKeyRecord.id == row.key_id) & ApiKeyRecord.revoked.is_(None)
            key = fetch_one_or_none(tx, select(ApiKeyRecord).where(active))
        return None if key is None else OpenSession(id, key, row.created, row.used)

    def _record_use(self, id: str, now: int) -> None:
        # Not durable: a power loss may only end the session earlier.
        with self._database.transaction(durable=False) as tx:
            mine = (SessionRecord.hash == _hash(id)) & (SessionRecord.used < now)
            tx.execute(update(SessionRecord).where(mine).values({SessionRecord.used: now}))

    def _is_valid(self, now: int) -> ColumnElement[bool]:
        limits = self.limits
        return (SessionRecord.used > now - limits.idle) & (SessionRecord.created > now - limits.lifetime)

    def _cache(self, session: OpenSession) -> None:
        if len(self._cached) >= _CACHE_SIZE:
            self._cached.clear()
        self._cached[session.id] = (self._clock() + _CACHE_SECONDS, session)


def _hash(id: str) -> str:
    return hashlib.sha256(id.encode()).hexdigest()
