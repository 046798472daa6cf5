"""The name of a process, and the lock that proves that no other process has it.

```text
lock free                                -> an earlier process with the name is dead: its leases are claimed at once
lock held, recent heartbeat              -> another process has the name: the start fails after a short wait
lock held, no heartbeat for a lease      -> that process hangs: its leases have expired
```

The kernel releases a lock on a file, and PostgreSQL the lock of a session, when their process dies for any reason. So a
process that was killed never delays its successor.
"""

import contextlib
import fcntl
import hashlib
import logging
import os
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection, create_engine, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from foreseal.payments.api.models import ProcessRecord
from foreseal.payments.configuration import ServeSection
from foreseal.payments.ledger import Database

log = logging.getLogger(__name__)

MAX_NAME = 64
"""Maximum characters of a name."""
# Seconds that a start waits for a process that is ending.
_PATIENCE = 3.0
_PAUSE = 0.05


class NameInUse(Exception):
    """Another process with the same name uses the database."""


@dataclass(frozen=True, slots=True)
class ProcessName:
    """Name of a process, the same after a restart."""

    name: str
    is_random: bool = False
    """True if no other process can have the name."""
    incarnation: str = field(default_factory=lambda: secrets.token_hex(4))
    """Distinguishes the process from earlier ones with the same name."""

    @property
    def lease_owner(self) -> str:
        """Owner of leases: the name and the incarnation."""
        return f"{self.name} {self.incarnation}"

    @classmethod
    def from_section(cls, serve: ServeSection, host: str | None = None) -> "ProcessName":
        """Return the configured name, or one that consists of host and listen address.

        With port 0, the system chooses a port at each start, so the name is random.
        """
        if serve.name is not None:
            return cls(serve.name)
        host, (address, port) = host or socket.gethostname(), serve.listen
        if port == 0:
            return cls(f"{host[:40]}-{secrets.token_hex(8)}", is_random=True)
        name = f"{host}-{address}-{port}"
        if len(name) > MAX_NAME:
            name = f"{name[:47]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
        return cls(name)


class NameLock(Protocol):
    """Lock of a name in a database, which ends with its process."""

    def acquire(self) -> bool:
        """Return True if this process has the lock, now or already. Raises the database's errors."""
        ...

    def release(self) -> None:
        """Release the lock, if this process has it."""
        ...


class FileLock:
    """Lock on a file next to an SQLite database."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def acquire(self) -> bool:
        """Lock the file, which is never deleted."""
        if self._file is not None:
            return True
        file = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        self._file = file
        return True

    def release(self) -> None:
        """Unlock the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class SessionLock:
    """Advisory lock of a session of PostgreSQL, with a connection of its own."""

    def __init__(self, database: Database, name: str) -> None:
        # Without a pool, the end of the connection is that of the session.
        self._engine = create_engine(database.engine.url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        digest = hashlib.sha256(f"foreseal process {name}".encode()).digest()
        self._key = int.from_bytes(digest[:8], "big", signed=True)
        self._session: Connection | None = None

    def acquire(self) -> bool:
        """Lock the key. A lost connection is replaced."""
        if self._session is not None:
            try:
                self._session.execute(text("SELECT 1"))
            except SQLAlchemyError:
                self.release()
            else:
                return True
        session = self._engine.connect()
        try:
            acquired = bool(session.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": self._key}).scalar_one())
        except BaseException:
            session.close()
            raise
        if not acquired:
            session.close()
            return False
        self._session = session
        return True

    def release(self) -> None:
        """Unlock the key and close the connection."""
        if self._session is not None:
            session, self._session = self._session, None
            with contextlib.suppress(SQLAlchemyError), session:
                session.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": self._key})


class NoLock:
    """Lock of a name that no other process can have."""

    def acquire(self) -> bool:
        """Return True."""
        return True

    def release(self) -> None:
        """Do nothing."""


def build_lock(database: Database, name: ProcessName) -> NameLock:
    """Return the lock of a name in a database."""
    if name.is_random:
        return NoLock()
    if database.engine.dialect.name == "postgresql":
        return SessionLock(database, name.name)
    path = database.engine.url.database
    if not path or path == ":memory:":
        return NoLock()
    return FileLock(Path(f"{path}.{hashlib.sha256(name.name.encode()).hexdigest()[:16]}.lock"))


def acquire_name(
    database: Database,
    name: ProcessName,
    lock: NameLock,
    lease: float,
    clock: Callable[[], float],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Acquire the lock of a name. Raises `NameInUse` if a living process has it.

    `lease` is in seconds, `clock` Unix time in seconds. Returns without the lock if the process that has it hangs.
    """
    waited = 0.0
    while not lock.acquire():
        seen = _last_heartbeat(database, name.name)
        if seen is not None and seen <= clock() - lease:
            log.warning("a process with the same name hangs: taking over its work", extra={"process_name": name.name})
            return
        if waited >= _PATIENCE:
            raise NameInUse(
                f"another process with the name {name.name} uses the database: stop it, or set a different name "
                "for each process ([serve] name)"
            )
        sleep(_PAUSE)
        waited += _PAUSE


def _last_heartbeat(database: Database, name: str) -> float | None:
    with database.reading() as tx:
        return tx.execute(select(ProcessRecord.seen).where(ProcessRecord.id == name)).scalar_one_or_none()
