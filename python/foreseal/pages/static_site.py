"""Responses for the files of a site: in memory, compressed once, with validators and a strict security policy."""

import copy
import gzip
import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

FILES = Path(__file__).parent
"""Folder with the files of all sites."""

LIBRARY = ("lib", "vendor")
"""Folders of `FILES` that every site uses. The build installs `vendor` from npm."""

_INCOMPLETE = b"this build has no browser pages, because no registry of npm was reachable: repeat `make build`\n"

TYPES = {
    ".css": b"text/css; charset=utf-8",
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}
"""Content type of each kind of file that is sent. Other files of a folder, such as declarations, are not sent."""

_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "img-src": "'self' data:",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}

_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]

# The pages have no build step, so a name is not bound to one version: browsers ask each time if a file has changed.
_CACHE = (b"cache-control", b"no-cache")
# Smaller files gain nothing from compression.
_MIN_COMPRESSED = 256


class PageResponse(NamedTuple):
    """A whole HTTP response."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


@dataclass(frozen=True)
class StaticFile:
    """One file, in both encodings."""

    kind: bytes
    tag: bytes
    """ETag of the content."""
    body: bytes

    @classmethod
    def load(cls, path: Path) -> "StaticFile":
        """Read a file. Raises OSError."""
        return cls.build(TYPES[path.suffix], path.read_bytes())

    @classmethod
    def build(cls, kind: bytes, body: bytes) -> "StaticFile":
        """Return a file with this content."""
        return cls(kind, b'"%b"' % hashlib.sha256(body).hexdigest()[:32].encode(), body)

    @cached_property
    def compressed(self) -> bytes | None:
        """The body with gzip; None if that is not smaller. Compressed at the first use: all files take 40 ms."""
        if len(self.body) < _MIN_COMPRESSED:
            return None
        # The same bytes for the same content: gzip would else include the time.
        compressed = gzip.compress(self.body, 9, mtime=0)
        return compressed if len(compressed) < len(self.body) else None


class StaticSite:
    """The files of one site.

    `PREFIX/static/lib/rpc.js` is the file `lib/rpc.js`. Every other path that begins with the prefix is a page of the
    site: the same document, which reads the path in the browser.
    """

    def __init__(
        self,
        name: str,
        folders: Iterable[str] = LIBRARY,
        sources: Mapping[str, str] | None = None,
        shared: Collection[str] = (),
        *,
        has_opener: bool = False,
    ) -> None:
        """Load the folder `name`, which is the site's prefix too, and `folders`. Raises OSError.

        `sources` replaces directives of the content security policy, for example `{"form-action": "'self'"}`.
        `shared` are files below `static/` that pages of other origins may load. With `has_opener`, a page that opens
        the document in a window keeps a reference to it, so that the two can exchange messages.
        """
        self.prefix = f"/{name}"
        """First part of each path of the site, such as `/explorer`."""
        policy = "; ".join(f"{directive} {value}" for directive, value in (_POLICY | dict(sources or {})).items())
        headers = dict(_HEADERS) | ({b"cross-origin-opener-policy": b"unsafe-none"} if has_opener else {})
        self._headers = [(b"content-security-policy", policy.encode()), *headers.items(), _CACHE]
        shared_headers = dict(self._headers) | {b"cross-origin-resource-policy": b"cross-origin"}
        self._shared = {f"{self.prefix}/static/{name}": list(shared_headers.items()) for name in shared}
        self._files = {
            f"{self.prefix}/static/{path.relative_to(FILES).as_posix()}": StaticFile.load(path)
            for folder in (name, *folders)
            for path in sorted((FILES / folder).rglob("*"))
            if path.suffix in TYPES
        }
        self._is_incomplete = not all((FILES / folder).is_dir() for folder in folders)
        self._document = self._files[f"{self.prefix}/static/{name}/index.html"]

    def mounted_at(self, base: str) -> "StaticSite":
        """Return the same site whose document refers to files below `base`, for a server that removes it from paths."""
        site, document = copy.copy(self), self._document
        own = f'"{self.prefix}/'.encode()
        site._document = StaticFile.build(document.kind, document.body.replace(own, b'"' + base.encode() + own[1:]))
        return site

    def contains(self, path: str) -> bool:
        """Return True if the path, without a query, belongs to the site."""
        return path == self.prefix or path.startswith(self.prefix + "/")

    @property
    def paths(self) -> list[str]:
        """Paths of all files."""
        return list(self._files)

    def respond(self, verb: str, path: str, headers: Mapping[bytes, bytes]) -> PageResponse:
        """Answer a request for a path of the site. `headers` have names in lower case."""
        if verb not in ("GET", "HEAD"):
            return self._text(405, b"allowed here: GET, HEAD\n", (b"allow", b"GET, HEAD"))
        if self._is_incomplete:
            return self._text(503, _INCOMPLETE)
        file = self._files.get(path)
        if file is None:
            if path.startswith(f"{self.prefix}/static/"):
                return self._text(404, b"not found\n")
            file = self._document
        compressed = file.compressed if _accepts_gzip(headers.get(b"accept-encoding", b"")) else None
        # Both encodings have different bytes, so each has a tag of its own (RFC 9110, 8.8.3.3).
        tag = file.tag if compressed is None else file.tag[:-1] + b'-gzip"'
        lines = [(b"content-type", file.kind), (b"etag", tag), (b"vary", b"accept-encoding")]
        lines += self._shared.get(path, self._headers)
        if _matches(headers.get(b"if-none-match", b""), tag):
            return PageResponse(304, lines, b"")
        if compressed is not None:
            return PageResponse(200, [*lines, (b"content-encoding", b"gzip")], compressed)
        return PageResponse(200, lines, file.body)

    def _text(self, status: int, text: bytes, *lines: tuple[bytes, bytes]) -> PageResponse:
        kind = (b"content-type", b"text/plain; charset=utf-8")
        return PageResponse(status, [kind, *self._headers, *lines], text)


def _matches(tags: bytes, tag: bytes) -> bool:
    """Return True if `If-None-Match` names the tag; a proxy that compresses may have made it weak (RFC 9110, 8.8.3)."""
    return tags.strip() == b"*" or tag in (each.strip().removeprefix(b"W/") for each in tags.split(b","))


def _accepts_gzip(value: bytes) -> bool:
    """Return True if `Accept-Encoding` allows gzip (RFC 9110, 12.5.3)."""
    for entry in value.lower().split(b","):
        name, _, parameters = entry.partition(b";")
        if name.strip() in (b"gzip", b"*"):
            return parameters.replace(b" ", b"") not in (b"q=0", b"q=0.0", b"q=0.00", b"q=0.000")
    return False
