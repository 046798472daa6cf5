"""The listening socket of a node, and how many connections a process has room for."""

import logging
import resource
import socket

from foreseal.server.address import UNIX, AddressError, url
from foreseal.server.tls import Tls

log = logging.getLogger(__name__)

TRANSPORTS = NATIVE, ASGI = "native", "asgi"
"""Transports, which speak HTTP and WebSocket on a listener: an asyncio protocol of ours, or granian."""
ALIASES = {"direct": NATIVE, "granian": ASGI}
"""Former names of transports."""

# Connections that wait to be accepted.
BACKLOG = 1024
# Seconds without a request after which a connection is closed. The 30 s of other servers are also the interval at which
# many clients poll: every now and then the close would meet a request on its way, which then fails.
IDLE_TIME = 125.0
# Seconds that requests under way get when a listener stops. A client that never sends the rest of its head would hold
# it up for the idle time.
STOP_TIME = 10.0
# Of a client that vanished without a word nothing comes back: after so many seconds of silence it is asked, and after
# that every ten, and the third time that it does not answer the connection ends. What is accepted inherits them.
_KEEP_ALIVE = {socket.TCP_KEEPIDLE: 30, socket.TCP_KEEPINTVL: 10, socket.TCP_KEEPCNT: 3}
# Descriptors that are not for connections: journal, store, core, and what a registered method opens.
_RESERVED = 512


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on `host`:`port` (0: any free one). Raises `AddressError`."""
    listening = reserve(host, port)
    try:
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise _refused(host, port, error) from None
    return listening


def reserve(host: str, port: int) -> socket.socket:
    """Return a socket that holds `host`:`port` (0: any free one) and does not listen. Raises `AddressError`."""
    try:
        family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # What is accepted has all of these too.
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
    return AddressError(f"cannot listen on {host}:{port}: {error.strerror or error}")


def url_of(listening: socket.socket, tls: Tls | None) -> str:
    """Where this machine reaches what answers on a socket."""
    name = listening.getsockname()
    if listening.family == socket.AF_UNIX:
        return f"{UNIX}{name}"
    return url(name[0], name[1], "https" if tls else "http")


def room(wanted: int) -> int:
    """How many connections this process can have open, `wanted` at most; its limit of descriptors is raised for them.

    One descriptor too few would keep everybody out: the server in front could accept nobody and would try without end.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted + _RESERVED
    if soft != resource.RLIM_INFINITY and soft < most:
        soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        if soft < most:
            given = max(soft - _RESERVED, 1)
            log.warning(
                "fewer connections than --max-open: the limit of open files is low",
                extra={"room": given, "files": soft},
            )
            return given
    return wanted
