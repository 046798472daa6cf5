"""URLs of nodes."""

from urllib.parse import SplitResult, urlsplit

_SCHEMES = ("http", "https", "ws", "wss")


def scheme(url: str) -> str:
    """Return the scheme of a URL in lower case. Raise ValueError if it is not the URL of a node."""
    return _split(url).scheme


def origin(url: str) -> str:
    """Return scheme, host and port of a URL; the rest may be secret. Raises ValueError like `scheme`."""
    parts = _split(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ValueError(f"target: {url!r} is not a URL: {error}") from None
    if parts.scheme not in _SCHEMES:
        raise ValueError(f"target must be a URL with http, https, ws or wss, got {url!r}")
    if not parts.hostname:
        raise ValueError(f"target: {url!r} has no host")
    return parts
