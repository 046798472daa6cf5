"""API keys: shown once at creation, stored as hashes, each with a role."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from foreseal.payments.api.tables import Role, api_keys
from foreseal.payments.ledger import Database, UnknownRecord

LONGEST_NAME = 64

# Only existing keys are cached.
_CACHE_SIZE = 1_000
_CACHE_SECONDS = 1.0

_FORM = re.compile(r"pay_([0-9a-f]{10})_[0-9a-f]{64}")
# Roles that satisfy a required role.
_INCLUDED = {
    Role.READER: frozenset(Role),
    Role.CASHIER: frozenset({Role.CASHIER, Role.ADMIN}),
    Role.REFUNDER: frozenset({Role.REFUNDER, Role.ADMIN}),
    Role.ADMIN: frozenset({Role.ADMIN}),
}


def allowed(role: Role, needed: Role) -> bool:
    """Return True if a key's role satisfies the required one."""
    return role in _INCLUDED[needed]


def create(
    tx: Connection, name: str, role: Role, now: int, random: Callable[[int], bytes] = secrets.token_bytes
) -> str:
    """Create a key and return its text, which is shown once. Raises ValueError for an invalid name."""
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise ValueError(f"name: must have 1 to {LONGEST_NAME} printable characters")
    id = random(5).hex()
    text = f"pay_{id}_{random(32).hex()}"
    tx.execute(insert(api_keys).values(id=id, name=name, role=role, hash=_hash(text), created=now, revoked=None))
    return text


def find(tx: Connection, text: str) -> Row[Any] | None:
    """Return the key with this text if it exists and is not revoked."""
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    row = tx.execute(select(api_keys).where(api_keys.c.id == match[1], api_keys.c.revoked.is_(None))).one_or_none()
    return row if row is not None and hmac.compare_digest(row.hash, _hash(text)) else None


class KeyCache:
    """Keys that were used within the last second. A revoked key works for at most that long. Safe from any thread."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock
        self._keys: dict[str, tuple[float, Row[Any]]] = {}

    def has(self, text: str) -> bool:
        """Return True if `find` needs no database."""
        found = self._keys.get(text)
        return found is not None and self._clock() < found[0]

    def find(self, text: str) -> Row[Any] | None:
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


def listed(tx: Connection) -> list[Row[Any]]:
    """Return all keys, oldest first."""
    return list(tx.execute(select(api_keys).order_by(api_keys.c.created, api_keys.c.id)))


def revoke(tx: Connection, id: str, now: int) -> Row[Any]:
    """Revoke a key by its id, or by a name that only one active key has. Raises `UnknownRecord`."""
    named = (api_keys.c.id == id) | (api_keys.c.name == id)
    found = list(tx.execute(select(api_keys).where(named, api_keys.c.revoked.is_(None))))
    if len(found) != 1:
        several = ", ".join(row.id for row in found)
        raise UnknownRecord(f"no active key {id}" if not found else f"{id} is the name of several keys: {several}")
    tx.execute(update(api_keys).where(api_keys.c.id == found[0].id).values(revoked=now))
    return found[0]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
