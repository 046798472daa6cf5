"""Starts and stops `foreseal` as its user would: one process, a free port, what it prints, an exit code."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

from live.blocks import wait_for
from live.rpc import Rpc

START_TIME = 60.0
"""Seconds until `/readyz` must say ok; a start takes well under one on an idle machine."""
STOP_TIME = 30.0
"""Seconds from SIGTERM to exit code 0, the drain of calls under way included."""

# Steps come fast, so that tests are quick; blocks last long enough to look into one while it is pending.
FAST = ("--block-time", "2s", "--step", "50ms")


class Served:
    """A running process that serves HTTP. Its output is read as it comes, so that a full pipe never stops it."""

    URL: ClassVar[re.Pattern[str]] = re.compile(r"https?://\S+:\d+")
    """What it prints once it listens, or soon will."""
    READY: ClassVar[str] = "/readyz"
    """Path that answers 200 once it is ready."""

    def __init__(self, command: Sequence[str], cwd: Path | None = None) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # A group of its own, so that nothing that it started can outlive it.
            start_new_session=True,
        )
        self.printed = ""
        """All that it wrote so far to standard output and standard error."""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            self.url: str = wait_for(self._find_url, START_TIME, "the banner's URL", self._explain)
            wait_for(lambda: is_ok(self.url + self.READY), START_TIME, self.READY, self._explain)
        except BaseException:
            self._kill_group()
            raise

    def stop(self, pid: int | None = None) -> int:
        """Stop it as a process manager does; its exit code. Raises `TimeoutExpired` if it does not end.

        `pid` is the process that is told to stop, by default the one that was started.
        """
        if self.process.poll() is None:
            os.kill(pid or self.process.pid, signal.SIGTERM)
        code = self.process.wait(STOP_TIME)
        self._reader.join(STOP_TIME)
        return code

    def kill(self) -> None:
        """End it at once, as a crash would."""
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

    def _find_url(self) -> str | None:
        found = self.URL.search(self.printed)
        return found[0] if found else None

    def _explain(self) -> str:
        code = self.process.poll()
        if code is not None:
            # What is still in the pipe says why.
            self._reader.join()
            raise RuntimeError(f"foreseal ended with exit code {code}:\n{self.printed}")
        return f"foreseal printed:\n{self.printed}"


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
    """Whether there is an answer with status 200."""
    try:
        with urllib.request.urlopen(url, timeout=START_TIME) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError as error:
        error.close()
        return False
    except urllib.error.URLError:
        # granian's own command prints the URL before it listens.
        return False


def foreseal_command() -> str:
    """The installed command that belongs to this Python."""
    beside = Path(sys.executable).with_name("foreseal")
    found = str(beside) if beside.exists() else shutil.which("foreseal")
    assert found, "the foreseal command is not installed: run `make build`"
    return found


@contextlib.contextmanager
def live_node(*arguments: str, command: str = "dev") -> Iterator[LiveNode]:
    """A node on a free port, stopped by SIGTERM at the end; that must work and exit 0."""
    with stopping(LiveNode([foreseal_command(), command, "--port", "0", *FAST, *arguments])) as node:
        yield node


@contextlib.contextmanager
def stopping(running: S) -> Iterator[S]:
    """It is stopped by SIGTERM at the end, which must work and exit 0."""
    try:
        yield running
        code = running.stop()
        assert code == 0, f"foreseal ended with exit code {code} on SIGTERM:\n{running.printed}"
    finally:
        if running.process.poll() is None:
            running.kill()
