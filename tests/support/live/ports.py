"""Ports for servers under test that must be named before the server starts."""

import itertools
import os
import socket

# Below the range of which Linux gives ports for outgoing connections and for port 0, so that no other
# process is given a port between the probe and the start of the server. Each process starts at its own offset.
_FIRST, _SIZE = 20_000, 12_000
_offsets = itertools.count(os.getpid() * 16 % _SIZE)


def free_port() -> int:
    """Return a port without a listener, another one at each call."""
    for offset in itertools.islice(_offsets, _SIZE):
        port = _FIRST + offset % _SIZE
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
    raise OSError(f"no port from {_FIRST} to {_FIRST + _SIZE - 1} is free")
