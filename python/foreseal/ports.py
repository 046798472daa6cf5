"""Free loopback ports for servers whose address must be chosen before they start."""

import itertools
import os
import socket

# Below the range from which Linux assigns outgoing ports, so that no connection gets a port between probe and start.
# Each process begins at its own offset. Those of successive process numbers are far apart (the golden ratio of the
# range), so that two processes do not choose a port that the other has chosen and not opened yet.
_FIRST, _SIZE, _SPACING = 20_000, 12_000, 7_417
_offsets = itertools.count(os.getpid() * _SPACING % _SIZE)


def next_free_port() -> int:
    """Return a loopback port without a listener, a different one at each call. Raises OSError if all are taken."""
    for offset in itertools.islice(_offsets, _SIZE):
        port = _FIRST + offset % _SIZE
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
    raise OSError(f"no port from {_FIRST} to {_FIRST + _SIZE - 1} is free")
