"""A PostgreSQL server for the tests: Debian's programs, data and socket in a temporary folder."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import create_engine, inspect, make_url

from foreseal.payments.ledger.models import metadata
from foreseal.payments.ledger.schema import HEAD
from live.blocks import wait_for

# Folders of the programs on Debian and its derivatives.
_PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
_USER = "postgres"
_START_TIME = 60.0


def programs() -> Path | None:
    """Return the folder with `initdb` and `postgres`; None if there is none."""
    initdb = shutil.which("initdb")
    places = [*_PLACES, *([Path(initdb).parent] if initdb else [])]
    return next((each for each in places if (each / "initdb").exists() and (each / "postgres").exists()), None)


@contextlib.contextmanager
def server(folder: Path) -> Iterator[str]:
    """Run a fresh server for the context and yield its URL. It does not fsync: its data is discarded."""
    # PostgreSQL refuses to run as root.
    user = _USER if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="foreseal-pg-") as place:
        data = Path(place) / "data"
        if user is not None:
            shutil.chown(place, user)
        setup = ["--pgdata", str(data), "--auth", "trust", "--username", _USER, "--encoding", "UTF8", "--no-sync"]
        subprocess.run([folder / "initdb", *setup], user=user, cwd=place, check=True, capture_output=True)
        options = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", f"unix_socket_directories={place}"]
        # The log goes to a file: an unread pipe fills up after some hundred errors and then blocks every query.
        told = Path(place) / "log"
        with told.open("wb") as log:
            running = subprocess.Popen(
                [folder / "postgres", "-D", data, *options], user=user, cwd=place, stdout=subprocess.DEVNULL, stderr=log
            )
        try:
            wait_for(
                lambda: running.poll() is not None or b"ready to accept connections" in told.read_bytes(),
                _START_TIME,
                "postgres",
            )
            if running.poll() is not None:
                raise RuntimeError(f"postgres ended with {running.returncode}: {told.read_text()}")
            yield f"postgresql+psycopg://{_USER}@/postgres?host={place}"
        finally:
            running.terminate()
            running.wait()


def empty_database(url: str) -> str:
    """Delete all rows of a ledger's tables, if they exist. Return the URL."""
    engine = create_engine(url)
    with engine.begin() as tx:
        tables = inspect(tx).get_table_names()
        if "alembic_version" in tables:
            emptied = [table.name for table in reversed(metadata.sorted_tables) if table.name in tables]
            tx.exec_driver_sql("; ".join(f"DELETE FROM {name}" for name in emptied))
            tx.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{HEAD}'")
    engine.dispose()
    return url


def named_database(url: str, name: str) -> str:
    """Return the URL of an empty database with another name on a PostgreSQL server, which is created at first."""
    other = make_url(url).set(database=name)
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        if not connection.exec_driver_sql(f"SELECT 1 FROM pg_database WHERE datname = '{name}'").all():
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return empty_database(other.render_as_string(hide_password=False))


def postmaster_of(url: str) -> int:
    """Return the process id of a server that `server` started."""
    return int((Path(url.rpartition("host=")[2]) / "data" / "postmaster.pid").read_text().split()[0])


def children_of(pid: int) -> list[int]:
    """Return the processes that a process started."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
