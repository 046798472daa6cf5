"""A node process of a local cluster: sequencer or replica."""

import http.client
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foreseal.cluster.launched_process import LaunchedProcess
from foreseal.cluster.rpc_endpoint import RpcEndpoint
from foreseal.errors import NodeError
from foreseal.ports import next_free_port

_CALL_TIMEOUT = 2.0


@dataclass(frozen=True, slots=True)
class ChainFiles:
    """Files that all node processes of a cluster share."""

    genesis: Path
    sequencer_key: Path
    """Key of leader and standbys, so that a takeover does not change the signer."""
    token: Path
    """Shared secret that followers present to the feed."""


@dataclass(frozen=True, slots=True)
class SequencerRole:
    """A process that produces, or waits as a standby."""

    journal: str | None
    """URL of the quorum journal; None for a journal on its own disk only."""
    standby: bool
    feed: int = field(default_factory=next_free_port)
    """Port of the feed's listener."""
    advertised_feed: int | None = None
    """Port at which followers reach the feed, if a proxy is in between."""
    force_journal: bool = False
    """Accept an etcd that is too old for production."""
    admin: int = field(default_factory=next_free_port)
    """Port of the admin listener."""

    @property
    def feed_address(self) -> str:
        """Address of the feed for followers."""
        return f"tcp://127.0.0.1:{self.advertised_feed or self.feed}"

    def arguments(self, files: ChainFiles) -> list[str]:
        """Return the options of this role."""
        return [
            *(["--journal", self.journal] if self.journal else []),
            *("--sequencer-key", str(files.sequencer_key)),
            *("--feed-listen", f"127.0.0.1:{self.feed}"),
            *("--feed-advertise", f"127.0.0.1:{self.advertised_feed or self.feed}"),
            *("--admin", f"127.0.0.1:{self.admin}"),
            *(["--journal-force"] if self.force_journal else []),
            *(["--standby"] if self.standby else []),
        ]


@dataclass(frozen=True, slots=True)
class ReplicaRole:
    """A process that follows the feed and answers reads."""

    follow: Sequence[str]
    """Addresses of feeds."""
    feed: int | None = None
    """Port of the feed for further replicas; None if it serves none."""

    def arguments(self, _files: ChainFiles) -> list[str]:
        """Return the options of this role."""
        listen = ["--feed-listen", f"127.0.0.1:{self.feed}"] if self.feed else []
        return ["--follow", ",".join(self.follow), *listen]


NodeRole = SequencerRole | ReplicaRole


class NodeProcess(LaunchedProcess):
    """One `foreseal run` process with its own data directory."""

    def __init__(
        self,
        name: str,
        role: NodeRole,
        files: ChainFiles,
        folder: Path,
        program: Sequence[str],
        options: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`program` is the command `foreseal`; `options` are added to those of the role."""
        self.port = next_free_port()
        self.folder = folder
        self.files = files
        self._prefix = (
            *(*program, "run", "--name", name, "--datadir", str(folder / "data"), "--genesis", str(files.genesis)),
            *("--host", "127.0.0.1", "--port", str(self.port), "--feed-token-file", str(files.token), *options),
        )
        super().__init__(name, (), folder / "log.txt", environment)
        self.set_role(role)

    @property
    def url(self) -> str:
        """URL of its JSON-RPC endpoint."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def datadir(self) -> Path:
        """Data directory."""
        return self.folder / "data"

    def set_role(self, role: NodeRole) -> None:
        """Set the role of its next start."""
        self.role = role
        self.command = (*self._prefix, *role.arguments(self.files))

    def is_ready(self) -> bool:
        """Return True if `/readyz` returns 200."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_CALL_TIMEOUT)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of a call; None if the process does not answer or returns an error."""
        try:
            return RpcEndpoint(self.url, timeout=_CALL_TIMEOUT).call(method, *params).result
        except NodeError:
            return None

    def cluster_status(self) -> dict[str, Any]:
        """Return the member `cluster` of its status; empty if it does not answer."""
        status = self.call("foreseal_status")
        cluster = status.get("cluster") if isinstance(status, dict) else None
        return cluster if isinstance(cluster, dict) else {}
