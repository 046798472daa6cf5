"""Bootstrap message to a process of a node on its standard input, and its reports through a pipe."""

import contextlib
import os
import pickle
import select
from dataclasses import dataclass, field
from typing import Any

import orjson

from foreseal.errors import NodeError
from foreseal.server.processes.heartbeat import Heartbeat
from foreseal.server.settings import Settings


@dataclass(frozen=True, slots=True)
class BootstrapMessage:
    """Bootstrap message of the supervisor to a process that it has started."""

    supervisor: int
    """Process id of the supervisor: the process ends with it."""
    report: int
    """Descriptor for the reports."""
    settings: Settings
    role: dict[str, str] = field(default_factory=dict)
    """Settings of the core in addition to `settings`."""
    socket: int | None = None
    """Descriptor of the socket that clients connect to; None if the process serves no clients."""
    explorer_socket: int | None = None
    """Descriptor of the socket of the explorer's listener; None if there is none."""
    buckets: int | None = None
    """Descriptor of the shared memory with the rate limits of callers."""
    processes: int | None = None
    """Descriptor of the shared memory with the metrics of all processes."""
    heartbeat_interval: float = 0.5
    """Seconds between two heartbeats."""

    @property
    def inherited(self) -> list[int]:
        """Descriptors that the process must inherit."""
        shared = self.socket, self.explorer_socket, self.buckets, self.processes
        return [self.report, *(fd for fd in shared if fd is not None)]

    def encode(self) -> bytes:
        """Serialize it for `decode` in another process of the same version."""
        return pickle.dumps(self)

    @staticmethod
    def decode(data: bytes) -> "BootstrapMessage":
        """Deserialize a message, which only the supervisor can have sent."""
        bootstrap = pickle.loads(data)  # noqa: S301 - through a pipe that only the parent has
        assert isinstance(bootstrap, BootstrapMessage), "the supervisor sends nothing else"
        return bootstrap


class ReportPipe:
    """Reports the progress of this process, each state once and in this order: `opened`, `ready`, or `failed`.

    It also sends `heartbeat` at any time.
    """

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd

    def heartbeat(self, heartbeat: Heartbeat) -> None:
        """Report progress. Dropped if the supervisor does not read: this process never waits for it."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._fd, _line({"heartbeat": heartbeat.encode()}))

    def opened(self, admin_url: str | None) -> None:
        """Report that it holds its exclusive resources and answers; the replay may not be complete."""
        self._send({"opened": admin_url})

    def ready(self) -> None:
        """Report that it is ready."""
        self._send({"ready": True})

    def failed(self, error: NodeError) -> None:
        """Report that it cannot be started."""
        self._send({"failed": [error.kind, error.message]})

    def _send(self, what: dict[str, Any]) -> None:
        while True:
            try:
                os.write(self._fd, _line(what))
            except BlockingIOError:
                select.select([], [self._fd], [])
            else:
                return


def _line(what: dict[str, Any]) -> bytes:
    """Encode a report; it is short enough for an atomic write to a pipe."""
    return orjson.dumps(what) + b"\n"
