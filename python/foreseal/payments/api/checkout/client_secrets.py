"""Client secrets of orders: derived from one key of the service, so that a payment link can be shown again.

```text
service key (32 random bytes, in the database)
  '-- HMAC-SHA256 over the order's id --> cs_...   in the fragment of the payment link, and in a request header
```

The service derives a secret when it needs one; only the stored response to the creation of an order repeats its link. A
wrong secret is rejected without a query.
"""

import base64
import hmac
import secrets
from typing import Self

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from foreseal.payments.api.models import ServiceKeyRecord
from foreseal.payments.ledger import Database
from foreseal.payments.ledger.queries import fetch_one_or_none

HEADER = "Foreseal-Client-Secret"
_PREFIX = "cs_"
_PURPOSE = "checkout"
_KEY_SIZE = 32
# Separates the two uses of the key.
_SECRET, _REQUEST = b"client secret\0", b"request\0"


class ClientSecrets:
    """Client secrets of all orders of one service."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def load(cls, database: Database) -> Self:
        """Read the key of the service; create it if there is none. Raises the database's errors."""
        key = _stored(database)
        if key is None:
            row = {ServiceKeyRecord.purpose: _PURPOSE, ServiceKeyRecord.key: secrets.token_bytes(_KEY_SIZE)}
            try:
                with database.transaction() as tx:
                    tx.execute(insert(ServiceKeyRecord).values(row))
            except IntegrityError:  # another process was faster
                pass
            key = _stored(database)
            assert key is not None, "a key is never removed"
        return cls(key)

    def secret(self, id: str) -> str:
        """Return the client secret of an order."""
        return _PREFIX + self._derive(_SECRET, id)

    def matches(self, id: str, text: str) -> bool:
        """Return True if the text is the client secret of an order, in constant time."""
        return hmac.compare_digest(self.secret(id).encode(), text.encode("utf-8", "replace"))

    def request_key(self, id: str, fingerprint: str) -> str:
        """Return the Idempotency-Key of a shopper's request, which no merchant's request can have by chance."""
        return f"checkout {self._derive(_REQUEST, f'{id}/{fingerprint}')}"

    def _derive(self, use: bytes, text: str) -> str:
        digest = hmac.digest(self._key, use + text.encode(), "sha256")
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _stored(database: Database) -> bytes | None:
    with database.reading() as tx:
        row = fetch_one_or_none(tx, select(ServiceKeyRecord).where(ServiceKeyRecord.purpose == _PURPOSE))
    return None if row is None else bytes(row.key)
