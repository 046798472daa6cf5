"""URLs of nodes."""

from urllib.parse import SplitResult, urlsplit

_SCHEMES = ("http", "https", "ws", "wss")


def scheme(url: str) -> str:
    """What a URL begins with, in lower case. Raises ValueError for what is not the URL of a node."""
    return _parts(url).scheme


def origin(url: str) -> str:
    """Scheme, host and port of a URL; what else it has may be secret. Raises ValueError as `scheme`."""
    parts = _parts(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ValueError(f"target: {url!r} is no URL: {error}") from None
    if parts.scheme not in _SCHEMES:
        raise ValueError(f"target: a URL with http, https, ws or wss, not {url!r}")
    if not parts.hostname:
        raise ValueError(f"target: {url!r} names no host")
    return parts
