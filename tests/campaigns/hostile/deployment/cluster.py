"""Replica and quorum of the node under test."""

import secrets
from pathlib import Path

from foreseal.cluster.etcd import EtcdCluster, find_etcd
from foreseal.ports import next_free_port
from hostile.build import Build
from hostile.chain import kill_quietly
from live.process import LiveNode

_DEBIAN = "/usr/bin/etcd"
_STANDBYS = 2


def write_secret(file: Path) -> None:
    """Write a random secret that only this user can read."""
    file.touch(0o600)
    file.write_text(secrets.token_hex(32) + "\n")


class Feed:
    """The listener at which other machines follow the node under test."""

    def __init__(self, folder: Path) -> None:
        self.token = folder / "feed.token"
        write_secret(self.token)
        self.port = next_free_port()

    @property
    def address(self) -> str:
        """Address for followers."""
        return f"tcp://127.0.0.1:{self.port}"

    def options(self, port: int | None = None) -> list[str]:
        """Return the options of a node that serves a feed at a port, by default that of the node under test."""
        return ["--feed-listen", f"127.0.0.1:{port or self.port}", *self.follower_options()]

    def follower_options(self) -> list[str]:
        """Return the options of a node that only follows."""
        return ["--feed-token-file", str(self.token)]


class Follower:
    """A `foreseal run` of its own data directory that follows the node under test: a replica or a standby."""

    def __init__(self, build: Build, folder: Path, name: str, options: list[str]) -> None:
        self.name = name
        own = ["--name", name, "--datadir", str(folder / name), "--genesis", str(folder / "genesis.json")]
        command = [str(build.executable), "run", *own, "--port", str(next_free_port()), *options]
        self.node = LiveNode(command)

    def stop(self) -> None:
        """Kill it: only the node under test must stop gracefully."""
        kill_quietly(self.node)


def start_replica(build: Build, folder: Path, feed: Feed) -> Follower:
    """Start a replica and wait until it is ready."""
    return Follower(build, folder, "replica", ["--follow", feed.address, *feed.follower_options()])


class Quorum:
    """Three members of etcd with the journal, and the standbys of the node under test."""

    def __init__(self, build: Build, folder: Path, feed: Feed) -> None:
        program = find_etcd() or find_etcd(_DEBIAN)
        if program is None:
            raise RuntimeError("etcd is not installed: the deployment `quorum` requires it")
        self._build, self._folder, self._feed = build, folder, feed
        self._key = folder / "sequencer.key"
        write_secret(self._key)
        self._etcd = EtcdCluster(folder, program)
        self.standbys: list[Follower] = []

    def start(self) -> None:
        """Start etcd, which the node under test requires."""
        self._etcd.start()

    def start_standbys(self) -> None:
        """Start the standbys, once the node under test owns the journal."""
        for number in range(1, _STANDBYS + 1):
            options = [*self._options(), "--standby", *self._feed.options(next_free_port())]
            self.standbys.append(Follower(self._build, self._folder, f"standby-{number}", options))

    def leader_options(self, *, is_restart: bool) -> list[str]:
        """Return the options of the node under test; it waits as a standby when it starts again."""
        return ["--name", "leader", *self._options(), *(["--standby"] if is_restart else [])]

    def stop(self) -> None:
        """Stop standbys and etcd."""
        for standby in self.standbys:
            standby.stop()
        self._etcd.stop()

    def _options(self) -> list[str]:
        force = ["--journal-force"] if self._etcd.needs_force else []
        return ["--journal", self._etcd.journal_url(), "--sequencer-key", str(self._key), *force]
