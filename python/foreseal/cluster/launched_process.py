"""A program that runs as a process of a local cluster, can be killed, paused and started again."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from foreseal.errors import NodeError

# Seconds from SIGTERM to SIGKILL.
STOP_TIMEOUT = 20.0
_LOG_TAIL = 2000
# Start of a line for people in the output of `foreseal`.
_MESSAGE = "foreseal: "
# Longest line of a log that is part of a message, in characters.
_MAX_MESSAGE = 400
# Bytes at the end of a log that are searched for a message.
_MAX_READ = 64 << 10
_POLL_INTERVAL = 0.05


class LaunchedProcess:
    """A program with its output in a file. It ends with this process.

    Start it from the main thread: the kernel ends it when the thread that started it ends.
    """

    def __init__(
        self, name: str, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        """Describe the process; `start` starts it. `environment` is added to that of this process."""
        self.name = name
        self.command = tuple(command)
        self.log = log
        self._environment = dict(environment or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0
        """Size of the log when the process was started last."""

    @property
    def pid(self) -> int | None:
        """Process id, None while it does not run."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    @property
    def exit_code(self) -> int | None:
        """Exit code of the last run, None while it runs or before its first start."""
        return None if self._process is None else self._process.poll()

    @property
    def is_running(self) -> bool:
        """True between a start and its end, also while it is paused."""
        return self.pid is not None

    def start(self) -> None:
        """Start it, appending its output to the log. Raises OSError."""
        assert not self.is_running, f"{self.name} runs already"
        launcher = (sys.executable, "-m", "foreseal.cluster.launch", str(os.getpid()))
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            # Signals of the terminal must not reach it: the owner of the cluster stops its processes in order.
            self._process = subprocess.Popen(  # noqa: S603 - the caller names the program
                (*launcher, *self.command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | self._environment,
                start_new_session=True,
            )

    def terminate(self) -> None:
        """Request its end with SIGTERM; a paused process is resumed for it."""
        self._send(signal.SIGTERM)
        self.resume()

    def stop(self, timeout: float = STOP_TIMEOUT) -> int | None:
        """Stop it with SIGTERM, after `timeout` seconds with SIGKILL. Return its exit code, None if it never ran."""
        if self._process is None:
            return None
        self.terminate()
        return self.wait_for_end(timeout)

    def wait_for_end(self, timeout: float = STOP_TIMEOUT) -> int | None:
        """Wait for its end, after `timeout` seconds kill it. Return its exit code, None if it never ran."""
        if self._process is None:
            return None
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int | None:
        """Kill it and its children with SIGKILL, and return its exit code, None if it never ran."""
        self._send(signal.SIGKILL)
        return None if self._process is None else self._process.wait()

    def pause(self) -> None:
        """Stop its execution with SIGSTOP until `resume`."""
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue its execution with SIGCONT."""
        self._send(signal.SIGCONT)

    def check_running(self) -> None:
        """Raise NodeError with the reason in its output if it has ended."""
        if self._process is not None and (code := self._process.poll()) is not None:
            raise NodeError("startup", f"{self.name} ended with exit code {code}: {self.failure()}")

    def log_tail(self) -> str:
        """Return the last characters of its output."""
        try:
            return self.log.read_text(errors="replace")[-_LOG_TAIL:].strip()
        except OSError:
            return ""

    def failure(self) -> str:
        """Return the message of the last run for people, or its last line, and the path of the log."""
        try:
            with self.log.open("rb") as log:
                log.seek(0, os.SEEK_END)
                log.seek(max(self._log_start, log.tell() - _MAX_READ))
                lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
        except OSError:
            lines = []
        messages = [line.removeprefix(_MESSAGE) for line in lines if line.startswith(_MESSAGE)]
        last = (messages or lines or ["it printed nothing"])[-1].strip()
        return f"{last[:_MAX_MESSAGE]} (log: {self.log})"

    def _send(self, number: signal.Signals) -> None:
        """Send a signal to the process and its children, which form one process group."""
        if self._process is not None and self._process.poll() is None:
            try:
                os.killpg(self._process.pid, number)
            except ProcessLookupError:
                return


def wait_until(condition: Callable[[], bool], processes: Sequence[LaunchedProcess], timeout: float) -> None:
    """Wait for a condition. Raises NodeError if one of the processes ended or `timeout` seconds passed."""
    end = time.monotonic() + timeout
    while not condition():
        for process in processes:
            process.check_running()
        if time.monotonic() > end:
            names = ", ".join(process.name for process in processes)
            failures = "; ".join(f"{process.name}: {process.failure()}" for process in processes)
            raise NodeError("startup", f"{names} not ready after {timeout:.0f} s: {failures}")
        time.sleep(_POLL_INTERVAL)


def stop_processes(processes: Sequence[LaunchedProcess], on_stopped: Callable[[LaunchedProcess], None]) -> None:
    """Stop processes at the same time, and report each one that was running."""
    running = [process for process in processes if process.is_running]
    for process in running:
        process.terminate()
    for process in running:
        process.wait_for_end()
        on_stopped(process)
