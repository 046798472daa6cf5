"""Who may call: Host names, and pages of other origins."""

from collections.abc import Mapping

from foreseal.server.address import is_loopback

Headers = Mapping[bytes, bytes]

CORS = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"x-foreseal-view, retry-after"),
]
PREFLIGHT = [
    *CORS,
    (b"access-control-allow-methods", b"POST, GET, OPTIONS"),
    (b"access-control-allow-headers", b"content-type, authorization, x-api-key"),
    (b"access-control-allow-private-network", b"true"),
    (b"access-control-max-age", b"86400"),
]


class Hosts:
    """Host names that requests may carry.

    A development node has unlocked keys: a page whose own name resolves to the loopback address (DNS rebinding) is
    same-origin to the browser and is told apart by this header alone.
    """

    def __init__(self, names: frozenset[str], *, any_by_default: bool) -> None:
        self._any = "*" in names or (any_by_default and not names)
        self._names = names

    def accepts(self, headers: Headers) -> bool:
        """Whether the Host header, port ignored, is a loopback name or an allowed one."""
        if self._any:
            return True
        name = _host_name(headers.get(b"host", b"").decode("latin-1"))
        return name in self._names or _is_loopback(name)


def _host_name(value: str) -> str:
    if value.startswith("["):
        return value[1:].partition("]")[0].lower()
    return value.partition(":")[0].rstrip(".").lower()


def _is_loopback(name: str) -> bool:
    return is_loopback(name) or name.endswith(".localhost")
