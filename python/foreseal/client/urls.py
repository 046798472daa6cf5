"""URLs of nodes."""

from urllib.parse import SplitResult, urlsplit

PRECONFIRMED_REFUSED = "confirmations count sealed blocks, so the path must not be /preconfirmed; use /"
"""Reason against that endpoint."""

_SCHEMES = ("http", "https", "ws", "wss")


def scheme(url: str) -> str:
    """Return the scheme of a URL in lower case.

    Raise ValueError if it is not the URL of a node, or that of its endpoint on which `latest` is the newest step.
    """
    parts = _split(url)
    if is_preconfirmed(url):
        raise ValueError(f"target: {url!r}: {PRECONFIRMED_REFUSED}")
    return parts.scheme


def is_preconfirmed(url: str) -> bool:
    """Return True for the endpoint on which `latest` is the newest step."""
    return urlsplit(url).path.rstrip("/").endswith("/preconfirmed")


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
