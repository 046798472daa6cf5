"""What a process of a node is told, through its standard input, and what it says of itself, through a pipe."""

import contextlib
import os
import pickle
import select
from dataclasses import dataclass, field
from typing import Any

import orjson

from foreseal.errors import NodeError
from foreseal.server.heartbeat import Heartbeat
from foreseal.server.settings import Settings


@dataclass(frozen=True, slots=True)
class Handover:
    """Told by the supervisor to a process that it has started."""

    supervisor: int
    """Its process id: it ends with that one."""
    report: int
    """Descriptor that it reports on."""
    settings: Settings
    role: dict[str, str] = field(default_factory=dict)
    """What the core is told beside the settings."""
    socket: int | None = None
    """Descriptor of the socket that clients connect to; None answers none."""
    buckets: int | None = None
    """Descriptor of the memory in which workers keep the rates of callers together."""
    processes: int | None = None
    """Descriptor of the memory with the figures of all processes, for metrics."""
    heartbeat_interval: float = 0.5
    """Seconds between two heartbeats."""

    @property
    def inherited(self) -> list[int]:
        """Descriptors that the process must have."""
        return [fd for fd in (self.report, self.socket, self.buckets, self.processes) if fd is not None]

    def encode(self) -> bytes:
        """For `decode` in another process of the same version."""
        return pickle.dumps(self)

    @staticmethod
    def decode(data: bytes) -> "Handover":
        """What the supervisor, and nobody else, has sent."""
        handover = pickle.loads(data)  # noqa: S301 - through a pipe that only the parent has
        assert isinstance(handover, Handover), "the supervisor sends nothing else"
        return handover


class Report:
    """Says how far this process is, each once and in this order: `opened`, `ready`, or why it ends, `failed`.

    And `heartbeat` at any time.
    """

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd

    def heartbeat(self, heartbeat: Heartbeat) -> None:
        """Show progress. Dropped if the supervisor reads nothing: this process never waits for it."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._fd, _line({"heartbeat": heartbeat.encode()}))

    def opened(self, admin_url: str | None) -> None:
        """It has what nobody else may have at the same time, and answers; not all of it has been replayed."""
        self._say({"opened": admin_url})

    def ready(self) -> None:
        """It can be relied on."""
        self._say({"ready": True})

    def failed(self, error: NodeError) -> None:
        """It cannot be started."""
        self._say({"failed": [error.kind, error.message]})

    def _say(self, what: dict[str, Any]) -> None:
        while True:
            try:
                os.write(self._fd, _line(what))
            except BlockingIOError:
                select.select([], [self._fd], [])
            else:
                return


def _line(what: dict[str, Any]) -> bytes:
    """Encode a report; short enough for a pipe to accept it as a whole or not at all."""
    return orjson.dumps(what) + b"\n"
