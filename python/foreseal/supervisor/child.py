"""A child process of the supervisor."""

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import IO, cast

import orjson

from foreseal.errors import NodeError
from foreseal.server.processes.heartbeat import Heartbeat, is_in_disk_sleep
from foreseal.supervisor.bootstrap import BootstrapMessage
from foreseal.supervisor.stall_detector import StallDetector, Timeouts

log = logging.getLogger(__name__)
_MAX_MESSAGE = 65536


class Child:
    """A started process, from its start to its end. Used from the event loop's thread only."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        bootstrap: BootstrapMessage,
        timeouts: Timeouts,
        on_heartbeat: Callable[[], None] = lambda: None,
    ) -> None:
        """Start `command` with `name` as its argument, and send it its bootstrap message. Raises OSError.

        The supervisor kills it when it exceeds one of `timeouts`: it is wedged.
        """
        loop = asyncio.get_running_loop()
        self.name = name
        self.opened: asyncio.Future[str | None] = loop.create_future()
        """Done when it answers, with the admin URL if it has one."""
        self.ready: asyncio.Future[None] = loop.create_future()
        """Done when it is ready."""
        self.ended: asyncio.Future[int] = loop.create_future()
        """Done when it has ended, with its exit code or minus the signal that killed it."""
        self.failure: NodeError | None = None
        """Reported reason of a failed start."""
        self.wedged: str | None = None
        """Reason why it was killed, if it was wedged."""
        self._ready_at: float | None = None
        self._reported = b""
        report, other = os.pipe()
        bootstrap = replace(bootstrap, report=other)
        try:
            inherited = bootstrap.inherited
            # The command is this interpreter with this package.
            self._process = subprocess.Popen([*command, name], stdin=subprocess.PIPE, pass_fds=inherited)  # noqa: S603
        except OSError:
            os.close(report)
            raise
        finally:
            os.close(other)
        try:
            self._pidfd = os.pidfd_open(self._process.pid)
        except OSError:
            with self._process as process:
                process.kill()
            os.close(report)
            raise
        os.set_blocking(report, False)
        self._report = report
        loop.add_reader(report, self._read_messages)
        loop.add_reader(self._pidfd, self._end)
        self._watch = StallDetector(timeouts, monotonic())
        self._interval = timeouts.interval
        self._on_heartbeat = on_heartbeat
        self._next_check = loop.call_later(self._interval, self._check)
        with contextlib.suppress(BrokenPipeError), cast(IO[bytes], self._process.stdin) as stdin:
            stdin.write(bootstrap.encode())

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def worked(self) -> float:
        """Seconds since it was ready, 0 if it never was."""
        return 0.0 if self._ready_at is None else monotonic() - self._ready_at

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it is still running."""
        if not self.ended.done():
            self._process.send_signal(number)

    def _read_messages(self) -> None:
        try:
            data = os.read(self._report, _MAX_MESSAGE)
        except BlockingIOError:
            return
        if not data:
            asyncio.get_running_loop().remove_reader(self._report)
            return
        *lines, self._reported = (self._reported + data).split(b"\n")
        for line in lines:
            self._handle_message(orjson.loads(line))

    def _handle_message(self, message: dict[str, object]) -> None:
        match message:
            case {"opened": str() | None as url}:
                self.opened.set_result(url)
            case {"ready": True}:
                self._ready_at = monotonic()
                self.ready.set_result(None)
            case {"failed": [str(kind), str(reason)]}:
                self.failure = NodeError(kind, reason)
            case {"heartbeat": {"phase": str(phase), "stalled": float(stalled), "idle": float(idle)}}:
                self._on_heartbeat()
                self._judge(self._watch.record_heartbeat(Heartbeat(phase, stalled, idle), monotonic()))

    def _check(self) -> None:
        self._next_check = asyncio.get_running_loop().call_later(self._interval, self._check)
        task = Path("/proc") / str(self.pid)
        self._judge(self._watch.check(monotonic(), lambda: is_in_disk_sleep(task)))

    def _judge(self, wedged: str | None) -> None:
        if wedged is None or self.wedged is not None:
            return
        self.wedged = wedged
        fields = {"child": self.name, "pid": self.pid, "reason": wedged}
        log.error("killing wedged process", extra=fields)
        self.send(signal.SIGKILL)

    def _end(self) -> None:
        loop = asyncio.get_running_loop()
        self._next_check.cancel()
        # Its last report.
        self._read_messages()
        loop.remove_reader(self._report)
        loop.remove_reader(self._pidfd)
        os.close(self._report)
        os.close(self._pidfd)
        self.ended.set_result(self._process.wait())
