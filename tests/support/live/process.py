"""Runs `foreseal` like its user: one process, a free port, its output, an exit code."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

from live.blocks import wait_for
from live.rpc import Rpc
from repository import SUPPORT

START_TIME = 60.0
"""Seconds until `/readyz` must return ok; a start takes well under one on an idle machine."""
STOP_TIME = 30.0
"""Seconds from SIGTERM to exit code 0, including the drain of calls in flight."""

# Short steps make tests fast; blocks are long enough for reads while they are pending.
FAST = ("--block-time", "2s", "--step", "50ms")


class Served:
    """A running process that serves HTTP. Its output is read continuously, so that a full pipe never stops it."""

    URL: ClassVar[re.Pattern[str]] = re.compile(r"https?://\S+:\d+")
    """Pattern of the URL in its output, printed once it listens or soon will."""
    READY: ClassVar[str] = "/readyz"
    """Path that returns 200 once it is ready."""

    def __init__(self, command: Sequence[str], cwd: Path | None = None) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # A separate process group, so that no child process can outlive it.
            start_new_session=True,
        )
        self._name = Path(command[0]).name
        self.printed = ""
        """Output to standard output and standard error so far."""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            self.url: str = wait_for(self._find_url, START_TIME, "the banner's URL", self._explain)
            wait_for(self._is_ready, START_TIME, self.READY, self._explain)
        except BaseException:
            self._kill_group()
            raise

    def stop(self, pid: int | None = None) -> int:
        """Stop it like a process manager and return its exit code. Raise `TimeoutExpired` if it does not exit.

        `pid` is the process that gets the signal, by default the started one.
        """
        if self.process.poll() is None:
            os.kill(pid or self.process.pid, signal.SIGTERM)
        code = self.process.wait(STOP_TIME)
        self._reader.join(STOP_TIME)
        return code

    def kill(self) -> None:
        """Kill it at once, like a crash."""
        self._kill_group()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.printed += line

    def _is_ready(self) -> bool:
        return is_ok(self.url + self.READY)

    def _find_url(self) -> str | None:
        match = self.URL.search(self.printed)
        return match[0] if match else None

    def _explain(self) -> str:
        code = self.process.poll()
        if code is not None:
            # The rest of the pipe contains the reason.
            self._reader.join()
            raise RuntimeError(f"{self._name} ended with exit code {code}:\n{self.printed}")
        return f"{self._name} printed:\n{self.printed}"


class PeerProcess(Served):
    """A node of other software. It prints its address, the match of `URL`, without a scheme once it is ready."""

    def _find_url(self) -> str | None:
        address = super()._find_url()
        return f"http://{address}" if address else None

    def _is_ready(self) -> bool:
        return True

    def _read(self) -> None:
        # It may print a line per call; only those before the address matter.
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                if not self.URL.search(self.printed):
                    self.printed += line


class LiveNode(Served):
    """A running node."""

    def __init__(self, command: Sequence[str], cwd: Path | None = None) -> None:
        super().__init__(command, cwd)
        self.rpc = Rpc(self.url)

    def stop(self, pid: int | None = None) -> int:
        self.rpc.close()
        return super().stop(pid)

    def kill(self) -> None:
        self.rpc.close()
        super().kill()


S = TypeVar("S", bound=Served)


def is_ok(url: str) -> bool:
    """Return True if a response has status 200."""
    return status_and_body(url)[0] == 200


def status_and_body(url: str) -> tuple[int, bytes]:
    """Return status and body of the response to a GET request; status 0 if there is none."""
    try:
        with urllib.request.urlopen(url, timeout=START_TIME) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()
    except (OSError, http.client.HTTPException):
        # granian's own command prints the URL before it listens, and a process that ends closes the connection.
        return 0, b""


def foreseal_command() -> str:
    """Return the installed command of this Python environment."""
    beside = Path(sys.executable).with_name("foreseal")
    path = str(beside) if beside.exists() else shutil.which("foreseal")
    assert path, "the foreseal command is not installed: run `make build`"
    return path


def command_with(values: Mapping[str, object] | None = None) -> list[str]:
    """Return the command, with values of fields of `Settings` that are no settings: `{"limits.idle": 2000}`."""
    if not values:
        return [foreseal_command()]
    return [sys.executable, str(SUPPORT / "internal_values" / "foreseal_with_values.py"), json.dumps(dict(values))]


@contextlib.contextmanager
def live_node(*arguments: str, command: str = "dev", values: Mapping[str, object] | None = None) -> Iterator[LiveNode]:
    """Run a node on a free port; SIGTERM at the end must stop it with exit code 0. `values`: see `command_with`."""
    with stopping(LiveNode([*command_with(values), command, "--port", "0", *FAST, *arguments])) as node:
        yield node


@contextlib.contextmanager
def stopping(running: S) -> Iterator[S]:
    """Stop the process by SIGTERM at the end, which must succeed with exit code 0."""
    try:
        yield running
        code = running.stop()
        assert code == 0, f"foreseal ended with exit code {code} on SIGTERM:\n{running.printed}"
    finally:
        if running.process.poll() is None:
            running.kill()


@contextlib.contextmanager
def hung(process: "subprocess.Popen[str]") -> Iterator[None]:
    """Stop a process and its children without an end, and continue them afterwards."""
    os.killpg(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGCONT)
