"""The listening socket that the workers of a node share, as one of them has it."""

import asyncio
import os
import signal
import socket
import time

LEAVE = signal.SIGUSR1
"""Tells a worker to end because another one has taken its place."""
# Seconds between two looks whether all clients have left, and the least share of the time that is not spent looking.
_LOOK, _SPARED = 0.05, 0.9


class SharedSocket:
    """A socket that listens; other processes have their own descriptors of the same one."""

    def __init__(self, listening: socket.socket) -> None:
        self.listening = listening
        """To be taken over by the server that accepts from it; what is below goes on with its descriptor."""
        self._port = listening.getsockname()[1]

    def connections(self) -> int:
        """Connections of clients that this process has open."""
        return sum(self._is_connection(int(name)) for name in os.listdir("/proc/self/fd"))

    async def left(self, seconds: float) -> bool:
        """Wait until no client is connected any more; False if there still is one after that time."""
        end = time.monotonic() + seconds
        while True:
            begun = time.monotonic()
            if not self.connections():
                return True
            now = time.monotonic()
            if now >= end:
                return False
            await asyncio.sleep(max(_LOOK, (now - begun) * _SPARED / (1 - _SPARED)))

    def _is_connection(self, fd: int) -> bool:
        try:
            line = socket.socket(fileno=fd)
        except OSError:
            # No socket, or closed meanwhile.
            return False
        try:
            if line.family not in (socket.AF_INET, socket.AF_INET6) or line.getsockname()[1] != self._port:
                return False
            line.getpeername()
        except OSError:
            return False
        finally:
            line.detach()
        return True
