"""A replica with an empty data directory waits for another node, and can be stopped meanwhile."""

import signal
import subprocess
from pathlib import Path

import pytest

from foreseal.ports import next_free_port
from live.process import foreseal_command

_TIMEOUT = 60.0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_waiting_replica_stops_at_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    token = tmp_path / "token"
    token.write_text("0123456789abcdef0123456789abcdef")
    token.chmod(0o600)
    follow = ["--follow", f"tcp://127.0.0.1:{next_free_port()}", "--feed-token-file", str(token)]
    command = [foreseal_command(), "run", "--datadir", str(tmp_path / "data"), "--port", "0", *follow]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            waiting = next(line for line in process.stderr if "no snapshot for the empty data directory yet" in line)
            assert "Connection refused" in waiting
            process.send_signal(number)
            rest = process.stderr.read()
            assert process.wait(_TIMEOUT) == 0
        finally:
            process.kill()
    assert "Traceback" not in rest
    assert "did not stop in time" not in rest
