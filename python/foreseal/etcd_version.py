"""Versions of etcd: the oldest that a node accepts, and the flags that depend on the version."""

import re

EtcdVersion = tuple[int, int, int]

OLDEST_ETCD: EtcdVersion = (3, 5, 14)
"""Oldest version that a node accepts unforced: earlier ones may lose acknowledged writes (etcd issue 14211)."""

# etcd retains raft entries in memory by count, not by bytes; elections must take less than the silence of a takeover.
_FLAGS = ("--snapshot-count=500", "--election-timeout=500", "--heartbeat-interval=50")
_CATCHUP_ENTRIES = 200
_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-.*)?", re.ASCII)


def parse_version(text: str) -> EtcdVersion | None:
    """Parse a version as etcd writes it, such as 3.5.14 or 3.6.0-rc.1; None if it is none."""
    match = _VERSION.fullmatch(text)
    return None if match is None else (int(match[1]), int(match[2]), int(match[3]))


def format_version(version: EtcdVersion) -> str:
    """Return a version as etcd writes it."""
    return ".".join(map(str, version))


def recommended_flags(version: EtcdVersion | None) -> tuple[str, ...]:
    """Return the recommended flags in the spelling of this version; None is the newest."""
    if version is None or version >= (3, 6, 0):
        return (*_FLAGS, f"--snapshot-catchup-entries={_CATCHUP_ENTRIES}")
    if version >= (3, 5, 0):
        return (*_FLAGS, f"--experimental-snapshot-catchup-entries={_CATCHUP_ENTRIES}")
    return _FLAGS
