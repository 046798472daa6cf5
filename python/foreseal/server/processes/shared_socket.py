"""The listening socket shared by the workers of a node, from the view of one worker."""

import asyncio
import os
import signal
import socket
import time

RETIRE_SIGNAL = signal.SIGUSR1
"""Signal for a worker to drain and exit because a replacement is ready."""
# Seconds between two checks for remaining clients, and the smallest share of time not spent on checks.
_CHECK_INTERVAL, _IDLE_SHARE = 0.05, 0.9


class SharedSocket:
    """A listening socket; other processes have their own descriptors of it."""

    def __init__(self, listening: socket.socket) -> None:
        self.listening = listening
        """The socket for the server that accepts from it; the methods below work after it was taken over."""
        self._port = listening.getsockname()[1]

    def connections(self) -> int:
        """Return the number of open client connections of this process."""
        return sum(self._is_connection(int(name)) for name in os.listdir("/proc/self/fd"))

    async def wait_until_unused(self, seconds: float) -> bool:
        """Wait until no client is connected; return False if one still is after `seconds`."""
        end = time.monotonic() + seconds
        while True:
            begun = time.monotonic()
            if not self.connections():
                return True
            now = time.monotonic()
            if now >= end:
                return False
            await asyncio.sleep(max(_CHECK_INTERVAL, (now - begun) * _IDLE_SHARE / (1 - _IDLE_SHARE)))

    def _is_connection(self, fd: int) -> bool:
        try:
            line = socket.socket(fileno=fd)
        except OSError:
            # Not a socket, or closed meanwhile.
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
