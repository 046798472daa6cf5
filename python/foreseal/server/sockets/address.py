"""Addresses of listeners."""

import errno
import ipaddress
import os
from pathlib import Path

UNIX = "unix:"
MAX_PATH_SIZE = 107
"""Longest path of a Unix socket in bytes, without the terminating zero."""


class AddressError(OSError):
    """An address that cannot be listened on; the message names it and the reason."""


class AddressInUseError(AddressError):
    """An address at which another process listens."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(f"cannot listen on {host}:{port}: {os.strerror(errno.EADDRINUSE)}")
        self.port = port


def parse_address(text: str) -> tuple[str, int]:
    """Parse host and port written HOST:PORT, an IPv6 address in brackets. Raises ValueError."""
    host, colon, port = text.strip().rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host or "/" in host:
        colon = ""
    if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ValueError(f"{text!r} is not an address: write HOST:PORT, such as 127.0.0.1:8546")
    return host, int(port)


def join_address(address: tuple[str, int]) -> str:
    """Return host and port as `parse_address` reads them."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_admin_address(text: str) -> tuple[str, int] | Path:
    """Parse an address as `parse_address` does, or the path of a Unix socket, written unix:PATH. Raises ValueError."""
    if not text.startswith(UNIX):
        try:
            return parse_address(text)
        except ValueError as error:
            raise ValueError(f"{error}, or {UNIX}PATH") from None
    path = Path(text.removeprefix(UNIX))
    if len(str(path.absolute()).encode()) > MAX_PATH_SIZE or not path.name:
        raise ValueError(
            f"{text!r} is not an address: write {UNIX}PATH with an absolute path of at most {MAX_PATH_SIZE} bytes"
        )
    return path


def is_loopback(host: str) -> bool:
    """Return True if only this machine can connect to `host`; names but localhost may resolve to any address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_wildcard(host: str) -> bool:
    """Return True if a listener on `host` has every address of the machine."""
    try:
        return not host or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def format_url(address: str, port: int, scheme: str = "http") -> str:
    """Return the URL at which this machine reaches a server on a numeric address, which may be a wildcard address."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104 - compared with, not bound
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
