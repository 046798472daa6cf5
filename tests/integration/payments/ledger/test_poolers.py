"""pgbouncer in front of PostgreSQL: its session mode is used, its transaction mode is refused."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import make_url

from command import foreseal
from foreseal.payments.ledger import Database, PoolerRefused
from foreseal.ports import next_free_port
from live import wait_for
from live.proxies import require_program

SENTENCE = "the database is behind a pooler that changes the server session between transactions"


@contextlib.contextmanager
def pgbouncer(url: str, mode: str, sessions: int) -> Iterator[str]:
    """Run pgbouncer in front of a server with at most this many sessions, and yield the URL through it."""
    program, port, target = require_program("pgbouncer"), next_free_port(), make_url(url)
    # It refuses to run as root.
    user = "postgres" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="foreseal-pgbouncer-") as place:
        folder = Path(place)
        file, log = folder / "pgbouncer.ini", folder / "log"
        file.write_text(
            f"[databases]\n{target.database} = host={target.query['host']} user={target.username}\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
            f"pool_mode = {mode}\ndefault_pool_size = {sessions}\n"
        )
        if user is not None:
            for path in (folder, file):
                shutil.chown(path, user)
        with log.open("wb") as told:
            running = subprocess.Popen([program, file], user=user, stdout=told, stderr=told)
        try:
            wait_for(lambda: b"process up" in log.read_bytes(), 30, "pgbouncer", log.read_text)
            yield target.set(host="127.0.0.1", port=port, query={}).render_as_string(hide_password=False)
        finally:
            running.terminate()
            running.wait()


@pytest.mark.parametrize("sessions", [1, 20])
def test_the_transaction_mode_is_refused(emptied: str, sessions: int) -> None:
    with pgbouncer(emptied, "transaction", sessions) as url:
        for _ in range(5):
            with pytest.raises(PoolerRefused, match=SENTENCE):
                Database(url)


def test_it_is_refused_while_others_use_the_pool(emptied: str) -> None:
    with pgbouncer(emptied, "transaction", 3) as url, ThreadPoolExecutor(8) as pool:

        def attempt(_: int) -> bool:
            try:
                Database(url).close()
            except PoolerRefused:
                return True
            return False

        assert all(pool.map(attempt, range(24)))


def test_the_session_mode_and_a_direct_connection_are_used(emptied: str) -> None:
    Database(emptied).close()
    with pgbouncer(emptied, "session", 20) as url:
        for _ in range(5):
            Database(url).close()


def test_commands_refuse_it(tmp_path: Path, emptied: str) -> None:
    with pgbouncer(emptied, "transaction", 5) as url:
        file = tmp_path / "pay.toml"
        file.write_text(CONFIGURATION.format(url=url))
        for command in (["check"], ["db", "upgrade"], ["serve", "--config"]):
            done = foreseal("pay", *command, file, env={**os.environ, "SHOP_KEY": "0x" + "11" * 32})
            assert (done.returncode, SENTENCE in done.stderr) == (2, True), (command, done.stderr)


CONFIGURATION = """
[node]
url = "http://127.0.0.1:9"
chain_id = 84532
[token]
address = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
name = "USDC"
version = "2"
[payee]
key_env = "SHOP_KEY"
[database]
url = "{url}"
"""
