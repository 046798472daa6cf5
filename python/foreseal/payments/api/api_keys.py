"""API keys: shown once at creation, stored as hashes, each with a role."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable

from sqlalchemy import Connection, insert, select, update

from foreseal.payments.api.models import ApiKeyRecord
from foreseal.payments.api.roles import Role
from foreseal.payments.ledger import Database, UnknownRecord
from foreseal.payments.ledger.queries import fetch_all, fetch_one_or_none

LONGEST_NAME = 64
ID_LENGTH = 10
"""Characters of the id of a key."""

# Only existing keys are cached.
_CACHE_SIZE = 1_000
_CACHE_SECONDS = 1.0

_FORM = re.compile(r"(pay|pk)_([0-9a-f]{10})_[0-9a-f]{64}")
# Roles that satisfy a required role. No other key takes the place of a publishable one: it must not reach a browser.
_INCLUDED = {
    Role.PUBLISHABLE: frozenset({Role.PUBLISHABLE}),
    Role.READER: frozenset(Role) - {Role.PUBLISHABLE},
    Role.CASHIER: frozenset({Role.CASHIER, Role.ADMIN}),
    Role.REFUNDER: frozenset({Role.REFUNDER, Role.ADMIN}),
    Role.ADMIN: frozenset({Role.ADMIN}),
}


def allowed(role: Role, needed: Role) -> bool:
    """Return True if a key's role satisfies the required one."""
    return role in _INCLUDED[needed]


def create(
    tx: Connection,
    name: str,
    role: Role,
    now: int,
    random: Callable[[int], bytes] = secrets.token_bytes,
    *,
    id: str | None = None,
) -> str:
    """Create a key and return its text, which is shown once. Raises ValueError for an invalid name."""
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise ValueError(f"name: must have 1 to {LONGEST_NAME} printable characters")
    id = id or random(ID_LENGTH // 2).hex()
    text = f"{prefix(role)}_{id}_{random(32).hex()}"
    tx.execute(
        insert(ApiKeyRecord).values(
            {
                ApiKeyRecord.id: id,
                ApiKeyRecord.name: name,
                ApiKeyRecord.role: role,
                ApiKeyRecord.hash: _hash(text),
                ApiKeyRecord.created: now,
                ApiKeyRecord.revoked: None,
            }
        )
    )
    return text


def find(tx: Connection, text: str) -> ApiKeyRecord | None:
    """Return the key with this text if it exists and is not revoked."""
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    row = fetch_one_or_none(tx, select(ApiKeyRecord).where(ApiKeyRecord.id == match[2], ApiKeyRecord.revoked.is_(None)))
    return row if row is not None and hmac.compare_digest(row.hash, _hash(text)) else None


def prefix(role: Role) -> str:
    """Return the beginning of a key, by which people and scanners of sources recognize a public one."""
    return "pk" if role is Role.PUBLISHABLE else "pay"


class KeyCache:
    """Keys that were used within the last second. A revoked key works for at most that long. Safe from any thread."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock
        self._keys: dict[str, tuple[float, ApiKeyRecord]] = {}

    def has(self, text: str) -> bool:
        """Return True if `find` needs no database."""
        cached = self._keys.get(text)
        return cached is not None and self._clock() < cached[0]

    def find(self, text: str) -> ApiKeyRecord | None:
        """Return the key with this text if it exists and is not revoked."""
        now = self._clock()
        cached = self._keys.get(text)
        if cached is not None and now < cached[0]:
            return cached[1]
        with self._database.reading() as tx:
            row = find(tx, text)
        if row is None:
            self._keys.pop(text, None)
            return None
        if len(self._keys) >= _CACHE_SIZE:
            self._keys.clear()
        self._keys[text] = (now + _CACHE_SECONDS, row)
        return row


def listed(tx: Connection) -> list[ApiKeyRecord]:
    """Return all keys, oldest first."""
    return fetch_all(tx, select(ApiKeyRecord).order_by(ApiKeyRecord.created, ApiKeyRecord.id))


def revoke(tx: Connection, id: str, now: int, *, by_name: bool = True) -> ApiKeyRecord:
    """Revoke a key by its id, or by a name that only one active key has. Raises `UnknownRecord`."""
    named = (ApiKeyRecord.id == id) | (ApiKeyRecord.name == id) if by_name else ApiKeyRecord.id == id
    records = fetch_all(tx, select(ApiKeyRecord).where(named, ApiKeyRecord.revoked.is_(None)))
    if len(records) != 1:
        several = ", ".join(row.id for row in records)
        raise UnknownRecord(f"no active key {id}" if not records else f"{id} is the name of several keys: {several}")
    tx.execute(update(ApiKeyRecord).where(ApiKeyRecord.id == records[0].id).values({ApiKeyRecord.revoked: now}))
    return records[0]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
