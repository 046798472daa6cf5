"""A PostgreSQL server of the tests' own: Debian's programs, data and socket in a folder that is removed."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from live.blocks import wait_for

# Where Debian and its kin keep them.
_PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
_USER = "postgres"
_START_TIME = 60.0


def programs() -> Path | None:
    """The folder with `initdb` and `postgres`; None where there is none."""
    found = shutil.which("initdb")
    places = [*_PLACES, *([Path(found).parent] if found else [])]
    return next((each for each in places if (each / "initdb").exists() and (each / "postgres").exists()), None)


@contextlib.contextmanager
def server(folder: Path) -> Iterator[str]:
    """The URL of a fresh server, which ends with the context. It does not sync: its data are thrown away."""
    # PostgreSQL refuses to run as root.
    user = _USER if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="foreseal-pg-") as place:
        data = Path(place) / "data"
        if user is not None:
            shutil.chown(place, user)
        setup = ["--pgdata", data, "--auth", "trust", "--username", _USER, "--encoding", "UTF8", "--no-sync"]
        subprocess.run([folder / "initdb", *setup], user=user, cwd=place, check=True, capture_output=True)
        options = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", f"unix_socket_directories={place}"]
        # To a file: a pipe that nobody reads is full after some hundred errors, and then every query waits.
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
