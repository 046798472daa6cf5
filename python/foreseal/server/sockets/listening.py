"""The listening socket of a node, and the connection limit of a process."""

import errno
import logging
import resource
import socket

from foreseal.server.sockets.address import UNIX, AddressError, AddressInUseError, format_url
from foreseal.server.sockets.tls import TlsFiles

log = logging.getLogger(__name__)

TRANSPORTS = NATIVE, ASGI = "native", "asgi"
"""Transports for HTTP and WebSocket: our own asyncio protocol, or granian."""

# Most connections that wait to be accepted.
BACKLOG = 1024
# Seconds without a request after which a connection is closed. The 30 s of other servers are also a common polling
# interval of clients: now and then the close would cross a request in transit, which then fails.
IDLE_TIME = 125.0
# Seconds for requests in progress when a listener stops. Otherwise a client that never completes its head would delay
# the stop for the idle time.
STOP_TIME = 10.0
# TCP keep-alive, to detect clients that vanished without closing. The first probe is sent after 30 s of silence,
# further ones every 10 s, and the connection ends after three without an answer. Accepted sockets inherit these
# options.
_KEEP_ALIVE = {socket.TCP_KEEPIDLE: 30, socket.TCP_KEEPINTVL: 10, socket.TCP_KEEPCNT: 3}
# Descriptors reserved for other uses: journal, store, core, and files that registered methods open.
_RESERVED = 512


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on `host`:`port` (0: any free one). Raises `AddressError`."""
    listening = bind(host, port)
    try:
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise _refused(host, port, error) from None
    return listening


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that holds `host`:`port` (0: any free one) and does not listen. Raises `AddressError`."""
    try:
        family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Accepted sockets inherit all of these.
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in _KEEP_ALIVE.items():
                listening.setsockopt(socket.IPPROTO_TCP, option, value)
            listening.bind(where)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        raise _refused(host, port, error) from None
    return listening


def _refused(host: str, port: int, error: OSError) -> AddressError:
    if error.errno == errno.EADDRINUSE:
        return AddressInUseError(host, port)
    return AddressError(f"cannot listen on {host}:{port}: {error.strerror or error}")


def listener_url(listening: socket.socket, tls: TlsFiles | None) -> str:
    """Return the URL at which this machine reaches a socket."""
    name = listening.getsockname()
    if listening.family == socket.AF_UNIX:
        return f"{UNIX}{name}"
    return format_url(name[0], name[1], "https" if tls else "http")


def raise_connection_limit(connections: int) -> int:
    """Return the number of connections that this process can open, at most `connections`.

    Its descriptor limit is raised for them. If descriptors ran out, the server could accept no connection at all and
    would retry without end.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    descriptors = connections + _RESERVED
    if soft != resource.RLIM_INFINITY and soft < descriptors:
        soft = descriptors if hard == resource.RLIM_INFINITY else min(descriptors, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        if soft < descriptors:
            available = max(soft - _RESERVED, 1)
            log.warning(
                "connections limited by the open file limit",
                extra={"room": available, "files": soft},
            )
            return available
    return connections
