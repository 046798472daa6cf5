"""A process ends within its stop time, whichever part is wedged."""

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import orjson

from repository import PYTHONPATH, SUPPORT

SECONDS = 60
# Seconds of a stop beyond the drain time, and of a slow machine.
MARGIN, SLOWNESS = 5.0, 10.0


class Process:
    """A node in a separate process."""

    def __init__(self, transport: str, drain_time: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(SUPPORT / "server_processes" / "wedged_process.py"), transport, str(drain_time)],
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": PYTHONPATH},
            text=True,
        )
        assert self._process.stdout is not None
        port = int(self._process.stdout.readline().rpartition(":")[2])
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)

    def send(self, method: str) -> None:
        """Send a call."""
        body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": []})
        self._line.request("POST", "/", body, {"content-type": "application/json"})

    def call(self, method: str) -> bytes:
        """Return the response to a call."""
        self.send(method)
        return self._line.getresponse().read()

    def wait_for_wedge(self) -> None:
        """Wait until the process executes the call that wedges it."""
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "wedged\n"

    def stop(self, signals: int = 1) -> tuple[int, float]:
        """Send this many signals; return the exit code and the seconds until the end."""
        started = time.monotonic()
        for _ in range(signals):
            self._process.send_signal(signal.SIGTERM)
            # Two pending signals would merge into one.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.5)
        return self._process.wait(SECONDS), time.monotonic() - started

    def close(self) -> None:
        self._line.close()
        self._process.kill()
        self._process.communicate()


@contextlib.contextmanager
def running(transport: str, drain_time: int = 1) -> Iterator[Process]:
    """Run a process and kill it afterwards."""
    process = Process(transport, drain_time)
    try:
        yield process
    finally:
        process.close()


def test_stop_that_hangs_exits_with_code_1(transport: str) -> None:
    with running(transport) as process:
        process.call("hang")
        code, seconds = process.stop()
    assert code == 1
    assert MARGIN <= seconds < MARGIN + SLOWNESS


def test_wedged_interpreter_exits_with_code_1(transport: str) -> None:
    with running(transport) as process:
        process.send("wedge")
        process.wait_for_wedge()
        code, seconds = process.stop()
    assert code == 1
    assert MARGIN <= seconds < MARGIN + SLOWNESS


def test_second_signal_shortens_the_drain_time(transport: str) -> None:
    with running(transport, drain_time=60_000) as process:
        process.call("hang")
        code, seconds = process.stop(signals=2)
    assert code == 1
    assert seconds < MARGIN + SLOWNESS


def test_stop_without_a_wedge_exits_with_code_0(transport: str) -> None:
    # The drain time is far longer: the stop waits for calls, of which there are none.
    with running(transport, drain_time=60_000) as process:
        process.call("echo")
        code, seconds = process.stop()
    assert code == 0
    assert seconds < MARGIN + SLOWNESS
