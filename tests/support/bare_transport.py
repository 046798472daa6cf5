"""The transport of a connection without a socket, which records writes."""

import asyncio
import re
from typing import Any


class BareTransport(asyncio.Transport):
    """A transport that records writes."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False
        self.reading = True
        self.ended = False
        self.protocol: Any = None
        """The protocol that replaced the first one."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else default

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def writelines(self, parts: Any) -> None:
        self.written += b"".join(parts)

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


def statuses_in(written: bytes) -> list[int]:
    """Return the statuses of responses, in order."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) [A-Z]", written)]
