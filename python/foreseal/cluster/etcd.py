"""A cluster of etcd members on loopback, with the flags that the quorum journal needs."""

import http.client
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from foreseal.cluster.launched_process import LaunchedProcess, stop_processes, wait_until
from foreseal.errors import NodeError
from foreseal.etcd_version import OLDEST_ETCD, EtcdVersion, format_version, parse_version, recommended_flags
from foreseal.ports import next_free_port

START_TIMEOUT = 60.0
_HEALTH_TIMEOUT = 1.0
_PRINTED_VERSION = re.compile(r"etcd Version: (\S+)")


def find_etcd(program: str | None = None) -> str | None:
    """Return the path of `program`, by default of `etcd` on the PATH; None if it is not installed."""
    return shutil.which(program or "etcd")


def etcd_version(program: str) -> EtcdVersion:
    """Return the version of an etcd program. Raises NodeError if it is not etcd."""
    try:
        shown = subprocess.run(  # noqa: S603 - the caller names the program
            (program, "--version"), capture_output=True, text=True, timeout=10, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NodeError("startup", f"{program} --version failed: {error}") from None
    printed = _PRINTED_VERSION.search(shown)
    version = None if printed is None else parse_version(printed[1])
    if version is None:
        raise NodeError("startup", f"{program} is not etcd: --version prints no line `etcd Version: X.Y.Z`")
    return version


@dataclass(frozen=True, slots=True)
class MemberPorts:
    """Loopback ports of one member."""

    client: int = field(default_factory=next_free_port)
    peer: int = field(default_factory=next_free_port)
    advertised_peer: int | None = None
    """Port at which the other members reach it, if a proxy is in between."""

    @property
    def peer_url(self) -> str:
        """URL for the other members."""
        return f"http://127.0.0.1:{self.advertised_peer or self.peer}"


def stored_ports(folder: Path, count: int = 3) -> list[MemberPorts]:
    """Return the ports stored in a folder, at first free ones: the data of members names the ports of their peers."""
    file = folder / "etcd-ports.json"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps([[each.client, each.peer] for each in (MemberPorts() for _ in range(count))]))
    return [MemberPorts(client, peer) for client, peer in json.loads(file.read_text())]


class EtcdMember(LaunchedProcess):
    """One member of the cluster."""

    def __init__(self, name: str, command: Sequence[str], folder: Path, ports: MemberPorts) -> None:
        super().__init__(name, command, folder / "log.txt")
        self.folder = folder
        """Folder with the log and, in `data`, the member's data."""
        self.ports = ports

    @property
    def endpoint(self) -> str:
        """HOST:PORT for clients."""
        return f"127.0.0.1:{self.ports.client}"

    def is_healthy(self) -> bool:
        """Return True if the member answers and has a leader."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports.client, timeout=_HEALTH_TIMEOUT)
        try:
            connection.request("GET", "/health")
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError):
            return False
        finally:
            connection.close()
        return response.status == http.client.OK and answer.get("health") == "true"


class EtcdCluster:
    """Members of one etcd cluster, with one folder each below `folder`."""

    def __init__(
        self,
        folder: Path,
        program: str,
        ports: Sequence[MemberPorts] | None = None,
        flags: Sequence[str] = (),
    ) -> None:
        """Describe the cluster, by default of three members on free ports; `start` starts it.

        `flags` are added to the recommended ones. Raises NodeError if `program` is not etcd.
        """
        self.version = etcd_version(program)
        ports = ports or [MemberPorts() for _ in range(3)]
        names = [f"etcd-{number}" for number in range(1, len(ports) + 1)]
        initial = ",".join(f"{name}={each.peer_url}" for name, each in zip(names, ports, strict=True))
        common = ("--initial-cluster", initial, *recommended_flags(self.version), *flags)
        self.members = [
            _describe_member(name, (program, *common), folder / name, each)
            for name, each in zip(names, ports, strict=True)
        ]

    @property
    def version_text(self) -> str:
        """Version of the program, such as 3.5.14."""
        return format_version(self.version)

    @property
    def needs_force(self) -> bool:
        """True if a node starts with this cluster only when forced."""
        return self.version < OLDEST_ETCD or len(self.members) == 1

    @property
    def endpoints(self) -> list[str]:
        """HOST:PORT of each member for clients."""
        return [member.endpoint for member in self.members]

    def journal_url(self, prefix: str = "foreseal") -> str:
        """Return the value of `--journal` for this cluster."""
        return f"etcd://{','.join(self.endpoints)}/{prefix}"

    def start(self, timeout: float = START_TIMEOUT) -> None:
        """Start all members and wait until each is healthy. Raises NodeError."""
        for member in self.members:
            member.start()
        self.wait_until_healthy(timeout)

    def wait_until_healthy(self, timeout: float = START_TIMEOUT) -> None:
        """Wait until every running member is healthy. Raises NodeError if one ended or `timeout` seconds passed."""
        wait_until(lambda: all(member.is_healthy() for member in self.members), self.members, timeout)

    def stop(self) -> None:
        """Stop all members."""
        stop_processes(self.members, lambda _: None)


def _describe_member(name: str, command: Sequence[str], folder: Path, ports: MemberPorts) -> EtcdMember:
    client, peer = f"http://127.0.0.1:{ports.client}", f"http://127.0.0.1:{ports.peer}"
    own = (
        *("--name", name, "--data-dir", str(folder / "data")),
        *("--listen-client-urls", client, "--advertise-client-urls", client),
        *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", ports.peer_url),
        *("--logger", "zap", "--log-level", "warn"),
    )
    return EtcdMember(name, (*command, *own), folder, ports)
