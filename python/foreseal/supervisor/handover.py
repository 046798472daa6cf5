"""What a process of a node is told, through its standard input, and what it says of itself, through a pipe."""

import os
import pickle
from dataclasses import dataclass, field
from typing import Any

import orjson

from foreseal.errors import NodeError
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

    @property
    def inherited(self) -> list[int]:
        """Descriptors that the process must have."""
        return [fd for fd in (self.report, self.socket, self.buckets) if fd is not None]

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
    """Says how far this process is, each once and in this order: `opened`, `ready`, or why it ends, `failed`."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

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
        os.write(self._fd, orjson.dumps(what) + b"\n")
