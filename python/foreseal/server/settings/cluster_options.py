"""Options of a node that works with other machines, and the rules of their combinations."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foreseal.server.settings.setting import SettingsError
from foreseal.server.sockets.address import format_url, is_wildcard, parse_address

_MIN_MAX_AGE = 2000
"""Milliseconds since the last tick after which a node that follows another machine is not ready, with short steps."""
_PAIRS = (("journal_cert", "journal_key"), ("journal_user", "journal_password_file"), ("feed_cert", "feed_key"))


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Options of a node that works with other machines. Raises `SettingsError` for half of a pair."""

    name: str = ""
    """Name of this node in the status and metrics of the others; empty uses the name of the process."""
    journal: str | None = None
    """URL of the etcd cluster that has the quorum journal; None writes the journal on this machine only."""
    journal_ca: Path | None = None
    journal_cert: Path | None = None
    journal_key: Path | None = None
    journal_user: str | None = None
    journal_password_file: Path | None = None
    journal_force: bool = False
    """Accept an etcd that is too old for production, or has a single member."""
    standby: bool = False
    """True takes over from a leader, and never begins a chain without one."""
    follow: tuple[str, ...] | None = None
    """Addresses of the feeds that a replica follows; None on a node that follows none."""
    feed_listen: str | None = None
    """Host and port of the feed for other machines."""
    feed_advertise: str | None = None
    """Host and port at which others reach it, if it is not `feed_listen`."""
    feed_ca: Path | None = None
    feed_cert: Path | None = None
    feed_key: Path | None = None
    feed_token_file: Path | None = None

    def __post_init__(self) -> None:
        for first, second in _PAIRS:
            if (getattr(self, first) is None) != (getattr(self, second) is None):
                raise SettingsError(f"{first} and {second} belong together", f"cluster.{first}", f"cluster.{second}")
        if self.journal_cert is not None and self.journal_ca is None:
            raise SettingsError(
                "journal_cert needs journal_ca, the CA of the etcd members",
                "cluster.journal_cert",
                "cluster.journal_ca",
            )

    def check_node(self, *, development: bool) -> None:
        """Check the options as those of a node. Raises `SettingsError` for a conflict."""
        if self.standby and self.journal is None:
            raise SettingsError("standby needs journal, which decides who leads", "cluster.standby", "cluster.journal")
        if development and (self.journal is not None or self.follow):
            raise SettingsError("a development chain works alone", "cluster.journal", "cluster.follow")
        if self.journal is None:
            return
        if self.follow:
            raise SettingsError(
                "journal and follow exclude each other: a member follows the owner that the journal names",
                "cluster.journal",
                "cluster.follow",
            )
        if self.feed_listen is None:
            raise SettingsError(
                "journal needs feed_listen, where the other members follow this node",
                "cluster.journal",
                "cluster.feed_listen",
            )
        if self._machine_host() is None:
            raise SettingsError(
                f"other nodes cannot reach {self.feed_advertise or self.feed_listen}: set feed_advertise to an address "
                "of this machine",
                "cluster.feed_listen",
                "cluster.feed_advertise",
            )

    def rpc_url(self, scheme: str, host: str, port: int) -> str:
        """Return the URL at which other machines reach an RPC server; empty if no option names this machine.

        A server on a wildcard address is reached at the host of the feed.
        """
        reachable = self._machine_host() if is_wildcard(host) else host
        return "" if reachable is None else format_url(reachable, port, scheme)

    def for_core(self, rpc: str, step: int = 0) -> dict[str, Any]:
        """Return the options as the core expects them. `rpc` is the URL of the RPC server; a step takes `step` ms."""
        journal = None
        if self.journal is not None:
            journal = {
                "url": self.journal,
                "ca": _path(self.journal_ca),
                "cert": _path(self.journal_cert),
                "key": _path(self.journal_key),
                "user": self.journal_user,
                "password_file": _path(self.journal_password_file),
                "force": self.journal_force,
            }
        return {
            "name": self.name,
            "follow": list(self.follow or ()),
            "feed_listen": self.feed_listen,
            "feed_advertise": self.feed_advertise,
            "feed_ca": _path(self.feed_ca),
            "feed_cert": _path(self.feed_cert),
            "feed_key": _path(self.feed_key),
            "feed_token_file": _path(self.feed_token_file),
            "rpc": rpc,
            "max_age": max(_MIN_MAX_AGE, 5 * step),
            "standby": self.standby,
            "journal": journal,
        }

    def _machine_host(self) -> str | None:
        """Return the host at which other machines reach the feed; None if no option names one."""
        address = self.feed_advertise or self.feed_listen
        if address is None:
            return None
        host, _ = parse_address(address)
        return None if is_wildcard(host) else host


def _path(path: Path | None) -> str | None:
    return None if path is None else str(path)
